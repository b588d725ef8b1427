/**
 * The table of settings, and its parser.
 *
 * table.ts has a row for each setting, from which the parser, .env.example and docs/reference/settings.md are
 * made; types.ts has their types; parse.ts reads an environment by the table, secrets from files included;
 * files.ts reads JSON that a setting names. src/config.ts derives from the values what the service uses.
 */
export { parseSettingsFile, schemaProblems } from './files'
export { parseSettings, removedSettings, settingNames, SettingsError } from './parse'
export { SUBMISSIONS, type Values } from './table'
export type { OutsideKey } from './types'
