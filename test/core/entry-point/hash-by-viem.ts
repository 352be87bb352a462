import { getUserOperationHash } from 'viem/account-abstraction';
import { entryPoints } from '../../../core/entry-point/address.js';
import { eip7702Factory } from '../../../core/entry-point/eip-7702.js';
import { packed } from '../../../core/entry-point/packed.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { Hex } from '../../../core/units/hex.js';

/**
 * The operation hash by viem, which unpacks what we keep packed. `paymasterSignature` is its separate field, which then
 * must not be in `paymasterAndData`.
 */
export function hashByViem(
  op: FinalUserOperation,
  paymasterAndData: Hex,
  version: EntryPointVersion,
  chainId: number,
  paymasterSignature?: Hex,
): Hex {
  const common = { ...op, sender: op.sender };
  const { initCode, ...unpacked } = common;
  const factory = initCode === '0x' ? undefined : (initCode.slice(0, 42) as Hex);
  const rendered = packed.renderPaymaster(version === '0.6' ? '0x' : paymasterAndData);
  const userOperation =
    version === '0.6'
      ? { ...common, paymasterAndData }
      : {
          ...unpacked,
          ...(factory === undefined
            ? {}
            : {
                factory: factory === eip7702Factory ? '0x7702' : factory,
                factoryData: `0x${initCode.slice(42)}`,
              }),
          ...(paymasterAndData === '0x'
            ? {}
            : {
                paymaster: rendered['paymaster'],
                paymasterVerificationGasLimit: BigInt(String(rendered['paymasterVerificationGasLimit'])),
                paymasterPostOpGasLimit: BigInt(String(rendered['paymasterPostOpGasLimit'])),
                paymasterData: rendered['paymasterData'],
              }),
          ...(paymasterSignature === undefined ? {} : { paymasterSignature }),
          ...(op.eip7702Auth === undefined ? {} : { authorization: { ...op.eip7702Auth, chainId } }),
        };
  return getUserOperationHash({
    chainId,
    entryPointAddress: entryPoints[version],
    entryPointVersion: version,
    userOperation,
  } as Parameters<typeof getUserOperationHash>[0]);
}
