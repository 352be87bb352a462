import { derivePaymasterId } from '../../../core/config/ids.js';
import type { Tenant } from '../../../core/config/tenant.js';
import type { ReservationKey } from '../../../core/usage/reservation.js';
import type { AddressKey } from '../../../core/units/address.js';
import { toAddressKey } from '../../../core/units/address.js';
import { addressOf } from '../../build/configs.js';
import { nameOf } from './oracle.js';
import { paymasters } from './written.js';

const firstSender = 0x5e00;
const paymasterNames = new Map(
  paymasters.map(({ organisation, name }) => [
    derivePaymasterId(organisation as Tenant, name),
    `${organisation}/${name}`,
  ]),
);

export function senderAt(n: number): AddressKey {
  return toAddressKey(addressOf(firstSender + n));
}

/** The oracle's name of an operation. */
export function operationNameOf({ paymasterId, sender, nonce }: ReservationKey): string {
  return nameOf(paymasterNames.get(paymasterId) ?? paymasterId, {
    sender: Number(sender) - firstSender,
    nonce: Number(nonce),
  });
}
