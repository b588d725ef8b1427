/** URLs of built files (build/). */
declare module 'virtual:basemap/*' {
  const url: string
  export default url
}
declare module 'virtual:map-worker-url' {
  const url: string
  export default url
}
declare module '*.css' {}
