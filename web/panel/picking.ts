import type { Page } from '../location'
import type { RecordKey } from '../map/record-layers'

/** Functions of the forms that receive a record that is clicked on the map while their page is shown. */
export const pickers: Partial<Record<Page, (record: RecordKey) => void>> = {}
