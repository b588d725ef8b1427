import '../chains-file'
import { runIndexer } from './run'

/** An indexer: `node lib/indexer/main.js <chain slug> ...`. */
runIndexer(process.argv.slice(2))
