import { custom, type Transport } from 'viem';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import type { Hex } from '../../../core/units/hex.js';
import { asHex } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { handleOp } from '../../chain/support/handle-ops.js';
import type { SignedUserOp } from '../../chain/support/user-op.js';

/** What became of an operation. */
export type MinedUserOp = { readonly success: boolean; readonly actualGasCost: bigint };

export type BundlerStandIn = {
  readonly transport: Transport;
  readonly mined: ReadonlyMap<string, MinedUserOp>;
};

/**
 * The part of a bundler that clients ask for: ample gas limits instead of an estimate, and operations mined at once by the
 * real EntryPoint. A bundler itself is run by `make test-clients`.
 */
export function bundlerStandIn(devChain: DevChain, version: EntryPointVersion): BundlerStandIn {
  const mined = new Map<string, MinedUserOp>();
  const entryPoint = devChain.deployments.entryPoints[version];

  async function send(wire: unknown): Promise<Hex> {
    const signed = readSigned(wire, version);
    const { event } = await handleOp(devChain, version, signed);
    const { chainId } = devChain;
    const hash = userOpHash(signed.op, signed.paymasterAndData, { version, entryPoint, chainId });
    if (hash === undefined) throw new Error('the userOpHash is not known off chain');
    mined.set(hash, event);
    return hash;
  }

  const transport = custom({
    async request({ method, params }: { method: string; params?: readonly unknown[] }) {
      switch (method) {
        case 'eth_chainId':
          return `0x${devChain.chainId.toString(16)}`;
        case 'eth_supportedEntryPoints':
          return [entryPoint];
        case 'eth_estimateUserOperationGas':
          return limits;
        case 'eth_sendUserOperation':
          return send(params?.[0]);
        default:
          return devChain.chain.request(method, params ?? []);
      }
    },
  });
  return { transport, mined };
}

const limits = { callGasLimit: '0x493e0', verificationGasLimit: '0x7a120', preVerificationGas: '0xea60' };

function readSigned(wire: unknown, version: EntryPointVersion): SignedUserOp {
  if (!isRecord(wire)) throw new TypeError('the operation is not an object');
  const op = parseUserOperation(wire, version);
  const { callGasLimit = 0n, verificationGasLimit = 0n, preVerificationGas = 0n } = op;
  return {
    op: { ...op, callGasLimit, verificationGasLimit, preVerificationGas },
    paymasterAndData: asHex(version === '0.6' ? String(wire['paymasterAndData']) : packed(wire)),
  };
}

function packed(wire: Readonly<Record<string, unknown>>): string {
  const word = (name: string): string => BigInt(String(wire[name])).toString(16).padStart(32, '0');
  const gas = `${word('paymasterVerificationGasLimit')}${word('paymasterPostOpGasLimit')}`;
  return `${String(wire['paymaster'])}${gas}${String(wire['paymasterData']).slice(2)}`.toLowerCase();
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
