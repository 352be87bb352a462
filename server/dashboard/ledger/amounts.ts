import type { TokenPayment } from '../../../core/ledger/record.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { about, shapeOf } from '../shape.js';
import * as schemas from './schemas.js';

/** An amount of the native coin, in wei, and rendered in coins under the name without `Wei`. */
export function amount<Name extends string>(name: Name, wei: bigint): Readonly<Record<string, string>> {
  return { [`${name}Wei`]: wei.toString(), [name]: formatDecimal(wei, 18) };
}

/**
 * An amount of wei in US dollars, exactly; null without a price, which is never 0. `usdPerNative`: dollars per coin with 18 implied
 * decimals.
 */
export function dollars(wei: bigint | undefined, usdPerNative: bigint | undefined): string | null {
  return wei === undefined || usdPerNative === undefined ? null : formatDecimal(wei * usdPerNative, 36);
}

/** What accounts have paid in a token. */
export const tokenPayment = shapeOf<TokenPayment>()({
  address: [schemas.address],
  amount: [about(schemas.wei, 'In the smallest unit of the token.')],
  decimals: [schemas.integerOrNull],
  rendered: [
    schemas.textOrNull,
    undefined,
    ({ amount: paid, decimals }) => (decimals === undefined ? null : formatDecimal(paid, decimals)),
  ],
});
