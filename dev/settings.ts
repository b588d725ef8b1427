import { settingNames } from '../src/config'

/** Every setting with an empty value, which means unset and keeps .env from setting it. */
export function blankSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(settingNames().map((name) => [name, '']))
}
