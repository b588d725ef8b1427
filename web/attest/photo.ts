import exifr from 'exifr/dist/lite.esm.mjs'
import { say } from '../messages'
import { photoTime, type PhotoTime } from './local-time'

/** Preview of a photo, small enough for a chain and without EXIF data. */
export interface PhotoPreview {
  type: string
  bytes: Uint8Array
  width: number
  height: number
  /** position in the photo's EXIF data, as longitude and latitude in degrees */
  position: [number, number] | undefined
  /** time in the photo's EXIF data */
  time: PhotoTime | undefined
}

/** Lengths of the longer side in pixels, and qualities, from the best to the smallest preview. */
const SIZES = [640, 480, 360, 280, 200, 140, 96]
const QUALITIES = [0.8, 0.6, 0.45]
/** Image formats, the best first. Browsers that cannot write WebP return PNG, which is rejected. */
const TYPES = ['image/webp', 'image/jpeg']

/** Reduces a photo to `mostBytes` on a canvas, which drops its EXIF data. Throws if it is unreadable. */
export async function previewOf(file: Blob, mostBytes: number): Promise<PhotoPreview> {
  const [picture, about] = await Promise.all([
    createImageBitmap(file).catch((error: unknown) => {
      throw new Error(say.media.unreadable, { cause: error })
    }),
    exifOf(file),
  ])
  for (const size of SIZES) {
    const scale = Math.min(1, size / Math.max(picture.width, picture.height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height)
    for (const quality of QUALITIES)
      for (const type of TYPES) {
        const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, quality))
        if (blob?.type !== type || blob.size > mostBytes) continue
        const bytes = new Uint8Array(await blob.arrayBuffer())
        return { type, bytes, width: canvas.width, height: canvas.height, ...about }
      }
  }
  throw new Error(say.media.notSmall)
}

/** EXIF tags of the time at which a photo was taken: DateTimeOriginal and OffsetTimeOriginal. */
const [TIME_TAG, OFFSET_TAG] = [0x9003, 0x9011]
// The small build of the library does not contain the names of tags.
const TIME_OPTIONS = { exif: true, gps: false, translateKeys: false, reviveValues: false }

async function exifOf(file: Blob): Promise<Pick<PhotoPreview, 'position' | 'time'>> {
  // Both are undefined for a picture without EXIF data, or with damaged data.
  const [gps, tags] = await Promise.all([
    exifr.gps(file).catch(() => undefined),
    exifr.parse(file, TIME_OPTIONS).catch(() => undefined) as Promise<Record<number, unknown> | undefined>,
  ])
  const { longitude, latitude } = gps ?? {}
  return {
    position:
      Number.isFinite(longitude) && Number.isFinite(latitude)
        ? ([longitude!, latitude!].map((each) => Number(each.toFixed(6))) as [number, number])
        : undefined,
    time: photoTime(tags?.[TIME_TAG], tags?.[OFFSET_TAG]),
  }
}
