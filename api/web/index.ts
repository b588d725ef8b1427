/**
 * The pages for people (web/): explorer, playground and attest page. They are built into a folder, compressed
 * beforehand, which is served as it is; GET / (api/service/about.ts) shows them to browsers.
 */
export { Pages } from './pages'
