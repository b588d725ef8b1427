import { Counter, Gauge, type Aggregator, type Registry } from 'prom-client'

/** A metric whose values are read whenever they are requested. */
export interface Figure {
  /** A name that ends with `_total` makes it a counter, any other name a gauge. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Combination of the values of several processes. Default: their sum. */
  readonly aggregator?: Aggregator
  /** Returns the value or, with labels, the values by label. */
  readonly read: () => number | readonly Labelled[]
}
type Labelled = readonly [labels: Readonly<Record<string, string>>, value: number]

/** Registers each figure as a counter or a gauge. Throws if its name is registered already. */
export function registerFigures(registry: Registry, figures: readonly Figure[]): void {
  for (const { name, help, labels = [], aggregator = 'sum', read } of figures) {
    const metric = {
      ...{ name, help, labelNames: labels, aggregator, registers: [registry] },
      collect(this: Counter | Gauge) {
        this.reset()
        const values = read()
        for (const [of, value] of typeof values === 'number' ? [[{}, values] as const] : values)
          this.inc(of, value)
      },
    }
    if (name.endsWith('_total')) new Counter(metric)
    else new Gauge(metric)
  }
}

export function labelled(label: string, values: Readonly<Record<string, number>>): Labelled[] {
  return Object.entries(values).map(([of, value]) => [{ [label]: of }, value])
}
