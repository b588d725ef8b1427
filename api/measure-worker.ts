import { GeometryError } from '../src/geodesy'
import { measureHere, type MeasureTask, type WorkerAnswer } from './measure'

/** What a worker thread does with a task. */
export default async function work(task: MeasureTask): Promise<WorkerAnswer> {
  try {
    return await measureHere(task)
  } catch (error) {
    if (error instanceof GeometryError) return { path: error.path, problem: error.problem }
    throw error
  }
}
