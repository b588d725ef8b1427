import { explorer } from './explorer'
import { forms } from './forms'
import { sheet } from './sheet'
import type { Reasons } from '../reasons'

/** English messages. A message that contains values is a function of these values. */
export const en = { ...explorer, ...sheet, ...forms, reasons: {} as Reasons }

export type Messages = typeof en
