// SPDX-License-Identifier: MIT
import { library } from '../library.mjs'

export default library({ input: { index: 'src/index.ts' } })
