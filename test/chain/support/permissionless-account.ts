import { createPublicClient, http } from 'viem';
import type { SmartAccount } from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { toSimpleSmartAccount } from 'permissionless/accounts';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { asHex, type TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';

/** SimpleAccount as permissionless and viem see it: their encoders, their hash, their signature. */
export async function buildPermissionlessAccount(
  devChain: DevChain,
  version: EntryPointVersion,
): Promise<TestAccount> {
  const client = createPublicClient({ transport: http(devChain.url) });
  const account = await toSimpleSmartAccount({
    client,
    owner: privateKeyToAccount(generatePrivateKey()),
    entryPoint: { address: devChain.deployments.entryPoints[version], version },
  });

  return ofViem(account, version);
}

/** An account of a library that builds on viem. */
export function ofViem(account: SmartAccount, version: EntryPointVersion): TestAccount {
  return {
    builtBy: 'permissionless',
    version,
    address: toAddressKey(parseAddress(account.address)),
    async encodeCalls(calls) {
      const given = calls.map(({ to, value, data }) => ({ to, value: value ?? 0n, data }));
      // Some write addresses with the letters of their checksum into packed bytes.
      return asHex((await account.encodeCalls(given)).toLowerCase());
    },
    nonce: () => account.getNonce({ key: 0n }),
    async initCode() {
      const { factory, factoryData } = await account.getFactoryArgs();
      return factory === undefined
        ? '0x'
        : asHex(`${factory.toLowerCase()}${(factoryData ?? '0x').slice(2)}`);
    },
    sign: (op, paymasterAndData) => account.signUserOperation(unpack(op, paymasterAndData, version)),
  };
}

/** The operation in viem's shape. */
function unpack(op: FinalUserOperation, paymasterAndData: Hex, version: EntryPointVersion) {
  const { sender, nonce, callData, callGasLimit, verificationGasLimit, preVerificationGas } = op;
  const common = {
    sender,
    nonce,
    callData,
    callGasLimit,
    verificationGasLimit,
    preVerificationGas,
    maxFeePerGas: op.maxFeePerGas,
    maxPriorityFeePerGas: op.maxPriorityFeePerGas,
    signature: op.signature,
  };
  if (version === '0.6') return { ...common, initCode: op.initCode, paymasterAndData };
  const hasFactory = op.initCode !== '0x';
  return {
    ...common,
    // Also without one, as viem has it: the Safe of permissionless signs the paymaster's data only beside this name.
    factory: hasFactory ? slice(op.initCode, 0, 20) : undefined,
    factoryData: hasFactory ? slice(op.initCode, 20) : undefined,
    ...(paymasterAndData === '0x'
      ? {}
      : {
          paymaster: slice(paymasterAndData, 0, 20),
          paymasterVerificationGasLimit: BigInt(slice(paymasterAndData, 20, 36)),
          paymasterPostOpGasLimit: BigInt(slice(paymasterAndData, 36, 52)),
          paymasterData: slice(paymasterAndData, 52),
        }),
  };
}

function slice(hex: Hex, start: number, end?: number): Hex {
  return `0x${hex.slice(2 + start * 2, end === undefined ? undefined : 2 + end * 2)}`;
}
