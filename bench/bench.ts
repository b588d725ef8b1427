/** What a benchmark works with. */
export interface Bench {
  /** This process's environment with every setting of the service blank, so that nothing of a person's own service, nor their .env, leaks in. */
  readonly environment: NodeJS.ProcessEnv
  /** Where the processes under test log. Kept when the benchmark fails. */
  readonly folder: string
  /** The URL of a new, empty database, which is dropped at the end. */
  createDatabase: () => Promise<string>
  /** Does this at the end, however it comes; what was named last is done first. */
  atEnd: (cleanup: () => Promise<void>) => void
  report: (line: string) => void
  /** Called often while something long is under way. */
  progress: (what: string, done: number, total: number) => void
}

/** Figures with the same columns, whose names say the unit. */
export type Table = readonly Readonly<Record<string, string | number>>[]
