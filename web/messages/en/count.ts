/** A number with its noun: `1 place`, `1,200 places`. */
export const count = (number: number, one: string, many = `${one}s`) =>
  `${number.toLocaleString('en')} ${number === 1 ? one : many}`
