import { formatDecimal } from '../../../core/units/wei.js';

/** An amount of the native coin, in wei, and rendered in coins under the name without `Wei`. */
export function amount<Name extends string>(name: Name, wei: bigint): Readonly<Record<string, string>> {
  return { [`${name}Wei`]: wei.toString(), [name]: formatDecimal(wei, 18) };
}
