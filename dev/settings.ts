import { settingNames } from '../src/config'

/** Returns every setting with an empty value: it counts as unset, and .env does not override it. */
export function blankSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(settingNames().map((name) => [name, '']))
}
