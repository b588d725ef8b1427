import { Histogram, type Registry } from 'prom-client'
import { labelled, registerFigures } from '../http/figures'

type Counts = () => Readonly<Record<string, number>>
/** Metrics of a process that delivers, evaluated when they are requested. */
interface DeliveryReadings {
  /** Number of attempts and of dead letters, by outcome. */
  messages: Counts
  held: () => number
  /** Number of subscriptions by state, of all processes. */
  subscriptions: Counts
  /** Longest wait of a message in seconds, by state of the receivers. */
  waitingSeconds: Counts
}

/** Registers the metrics for Prometheus, and returns the histogram of delays. */
export function registerDeliveries(registry: Registry, readings: DeliveryReadings): Histogram {
  registerFigures(registry, [
    {
      name: 'geospatial_webhook_messages_total',
      help: 'Delivery attempts that succeeded or failed, and messages that became dead letters',
      labels: ['outcome'],
      read: () => labelled('outcome', readings.messages()),
    },
    {
      name: 'geospatial_webhook_held',
      help: 'Subscriptions that this process delivers',
      read: readings.held,
    },
    {
      name: 'geospatial_webhook_subscriptions',
      help: 'Subscriptions by state, of all processes',
      labels: ['state'],
      aggregator: 'max',
      read: () => labelled('state', readings.subscriptions()),
    },
    {
      name: 'geospatial_webhook_waiting_seconds',
      help: 'Age of the oldest pending message, for receivers that accept messages and for those that fail',
      labels: ['receivers'],
      aggregator: 'max',
      read: () => labelled('receivers', readings.waitingSeconds()),
    },
  ])
  return new Histogram({
    name: 'geospatial_webhook_delay_seconds',
    help: 'Time from a change to its acceptance by a receiver, for messages that were accepted at the first try and whose change was logged after this process began to deliver for their subscription',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  })
}
