import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of a process that delivers, evaluated when they are requested. */
export interface Figures {
  /** Number of attempts and of dead letters, by outcome. */
  messages(): Readonly<Record<string, number>>
  held(): number
  /** Number of subscriptions by state, of all processes. */
  subscriptions(): Readonly<Record<string, number>>
  /** Longest wait of a message in seconds, by state of the receivers. */
  waitingSeconds(): Readonly<Record<string, number>>
}

/** Registers the metrics for Prometheus, and returns the histogram of delays. */
export function registerFigures(registry: Registry, figures: Figures): Histogram {
  const registers = [registry]
  new Counter({
    name: 'geospatial_webhook_messages_total',
    help: 'Delivery attempts that succeeded or failed, and messages that became dead letters',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset()
      for (const [outcome, value] of Object.entries(figures.messages())) this.inc({ outcome }, value)
    },
  })
  new Gauge({
    name: 'geospatial_webhook_held',
    help: 'Subscriptions that this process delivers',
    registers,
    collect() {
      this.set(figures.held())
    },
  })
  for (const [name, help, label, values] of [
    ['subscriptions', 'Subscriptions by state, of all processes', 'state', () => figures.subscriptions()],
    [
      'waiting_seconds',
      'Age of the oldest pending message, for receivers that accept messages and for those that fail',
      'receivers',
      () => figures.waitingSeconds(),
    ],
  ] as const)
    new Gauge({
      name: `geospatial_webhook_${name}`,
      help,
      labelNames: [label],
      aggregator: 'max',
      registers,
      collect() {
        for (const [of, value] of Object.entries(values())) this.set({ [label]: of }, value)
      },
    })
  return new Histogram({
    name: 'geospatial_webhook_delay_seconds',
    help: 'Time from a change to its acceptance by a receiver, for messages that were accepted at the first try and whose change was logged after this process began to deliver for their subscription',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  })
}
