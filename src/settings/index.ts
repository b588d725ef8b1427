/**
 * The table of settings, and its parser.
 *
 * - table.ts: one row per setting, from which the parser, .env.example and docs/reference/settings.md derive.
 * - types.ts: types of settings.
 * - parse.ts: reads an environment by the table, including secrets in files.
 * - files.ts: reads JSON files that a setting names.
 *
 * src/config.ts derives the values that the service uses.
 */
export { parseSettingsFile, parseSettingsList, schemaProblems } from './files'
export { parseSettings, removedSettings, settingNames, SettingsError } from './parse'
export { SUBMISSIONS, type Values } from './table'
export type { OutsideKey } from './types'
