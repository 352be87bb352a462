import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { handleOpsData, wrappedHandleOpsData } from './handle-ops-data.js';
import type { BundledOperation, Delivery } from './operations.js';

/** Whether an EntryPoint takes bundles from contracts. */
const takesRelays: Readonly<Record<EntryPointVersion, boolean>> = {
  '0.6': true,
  '0.7': true,
  '0.8': false,
  '0.9': false,
};

/** The same delivery, as far as the EntryPoint takes it. */
export function possible({ way, fat }: Delivery, version: EntryPointVersion): Delivery {
  return { way: way === 'relay' && !takesRelays[version] ? 'direct' : way, fat };
}

/** Receives the gas; the node of a test gives it this code. It emits 110,000 empty logs: a receipt of 38 MiB. */
export const fatReceiver = {
  address: '0x000000000000000000000000000000000000fa71' as AddressKey,
  code: `0x${['6201adb0', '5b', '60006000a0', '60019003', '80600457', '00'].join('')}` as Hex,
};
/** What a fat bundle needs besides. */
export const fatGas = 50_000_000n;

/** Bytes behind a call that nobody needs: more than two MiB, so that the transaction in JSON is larger than four. */
const padding = 2_200_000;

function padded(data: Hex, bytes: number): Hex {
  return bytes === 0 ? data : `${data}${'00'.repeat(bytes)}`;
}

/** Calls the address in the first 20 bytes with the rest, and answers as that does. */
export const relay = {
  address: '0x000000000000000000000000000000000000e1a9' as AddressKey,
  code: `0x${[
    '6014360380601460003760006000', // copies the rest
    '826000600060003560601c5af1', // calls
    '3d600060003e602857', // copies the answer
    '3d6000fd',
    '5b3d6000f3',
  ].join('')}` as Hex,
};

/** The call that a bundler sends. */
export function callOf(
  { way, fat }: Delivery,
  bundle: {
    readonly version: EntryPointVersion;
    readonly entryPoint: AddressKey;
    readonly operations: readonly BundledOperation[];
    readonly beneficiary: AddressKey;
  },
): { readonly to: AddressKey; readonly data: Hex } {
  const { version, entryPoint, operations } = bundle;
  const beneficiary = fat === 'receipt' ? fatReceiver.address : bundle.beneficiary;
  const encode = way === 'wrapped' ? wrappedHandleOpsData : handleOpsData;
  const data = padded(encode(version, operations, beneficiary), fat === 'input' ? padding : 0);
  return way === 'relay'
    ? { to: relay.address, data: `0x${entryPoint.slice(2)}${data.slice(2)}` }
    : { to: entryPoint, data };
}
