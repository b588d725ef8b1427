export const PORTABLE: readonly string[]
export function roomOf(file: string): string | undefined
export function problemOf(file: string, target: string): string | undefined
