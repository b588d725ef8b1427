import { explorer } from './explorer'
import { forms } from './forms'
import { sheet } from './sheet'

/** English messages. A message that contains values is a function of these values. */
export const en = { ...explorer, ...sheet, ...forms }

export type Messages = typeof en
