import { existsSync } from 'node:fs'

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (file) => existsSync(file),
)
/** WebGL 2 on the CPU, because the machine need not have a graphics card. */
const SOFTWARE_WEBGL = [
  ...['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  // The page around the WebGL canvas is drawn without the GPU emulation, which saves a third of the CPU time.
  '--disable-gpu-rasterization',
]
const NO_WEBGL = ['--disable-gpu', '--disable-webgl', '--disable-webgl2', '--disable-3d-apis']
/** Milliseconds that the start of a browser may take before it counts as hanging. */
const START_MS = 600_000

/** Options of a Chromium whose network ends at this machine: a page that loads an external resource fails. */
export const launchOptions = (webgl: boolean) => ({
  executablePath: CHROMIUM,
  timeout: START_MS,
  args: [
    '--no-sandbox',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ...(webgl ? SOFTWARE_WEBGL : NO_WEBGL),
  ],
})
