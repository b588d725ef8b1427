/**
 * The pages for people (web/): explorer, playground and attest page. They are built into a folder of
 * precompressed files, which is served unchanged. GET / (api/service/about.ts) shows them to browsers.
 */
export { Pages } from './pages'
