import { createRequire } from 'node:module';
import { AbiCoder, Interface } from 'ethers/abi';
import { keccak256 } from 'ethers/crypto';
import { CallReverted, type Chain, type StateOverride } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import type { EntryPointRules } from '../../core/entry-point/rules.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { zeroAddress, type Address } from '../../core/units/address.js';
import { bytesToHex, hexQuantity, isHexBytes, type Hex } from '../../core/units/hex.js';
import { toSeconds, type Clock } from '../../core/units/time.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { RpcError } from '../chain/node-errors.js';
import { explainRevert, printable, remedyOfReason } from './revert-reason.js';

type Simulation = {
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  /** Called by the EntryPoint after the operation; undefined calls nothing. */
  readonly target: { readonly address: string; readonly data: Hex } | undefined;
  /** Number of the block whose state counts; the newest unless given. */
  readonly block?: number;
};

export type SimulationResult = {
  /** Gas of validation (with preVerificationGas, which simulations set to 0). */
  readonly preOpGas: bigint;
  /** What the account's validation returned; undefined when the EntryPoint does not show it (0.6). */
  readonly accountValidationData: bigint | undefined;
  /** Wei that the operation paid; equals gas because simulations pay 1 wei per gas. */
  readonly paid: bigint;
  readonly targetSuccess: boolean;
  readonly targetResult: Hex;
};

/**
 * The node cannot simulate this EntryPoint because it does not support state overrides. Callers fall back to a bundler.
 */
export class OverridesUnsupported extends Error {}

/** The node gives `eth_call` less gas than the operation's limits ask for; smaller limits may work. */
export class GasCapped extends Error {}

/** The validation of the paymaster has failed (AA3x), which comes after that of the account. */
export class PaymasterFailed extends DomainError {}

/** One EntryPoint of one chain, ready to simulate. */
export type Simulator = (simulation: Simulation) => Promise<SimulationResult>;

/** How an EntryPoint is asked to simulate, and what it answers. */
type Speech = EntryPointRules & { readonly methods: Interface };

/** With which every EntryPoint refuses one operation of a bundle, for a reason such as "AA13 initCode failed or OOG". */
const failures = new Interface([
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
]);
/** The beginning of the reason when the call had too little gas for the limits of the operation. */
const outOfGas = 'AA95';

/** JSON-RPC: invalid request, unknown method, invalid parameters. */
const invalidParameters: ReadonlySet<number> = new Set([-32600, -32601, -32602]);
/** The sender's deposit in simulations without a paymaster: enough for every limit at 1 wei per gas. */
const senderDeposit: Hex = `0x${(10n ** 12n).toString(16).padStart(64, '0')}`;

/**
 * Simulates by `eth_call`. The EntryPoint's own `simulateHandleOp` answers by a revert. If the EntryPoint has none, the
 * same method of `EntryPointSimulations` is called, whose code overrides the EntryPoint's for the call. An EntryPoint
 * that refuses the operation is DomainError ESTIMATION_FAILED with its reason, e.g. "AA13 initCode failed or OOG".
 */
export function createSimulator(
  chain: Chain,
  entryPoint: Address,
  version: EntryPointVersion,
  clock: Clock,
): Simulator {
  const rules = entryPointRules[version];
  const speech: Speech = { ...rules, methods: new Interface(rules.simulation.abi) };
  let hasBlockOverrides: boolean | undefined;

  return async (simulation) => {
    const overrides = stateOverrides(simulation, entryPoint, speech);
    const gas = hexQuantity(sumGas(simulation, speech));
    const call = { to: entryPoint, data: encode(simulation, speech), gas };
    try {
      const block = simulation.block === undefined ? 'latest' : hexQuantity(simulation.block);
      return decodeReturn(await callAtPresent(call, block, overrides), speech);
    } catch (error) {
      if (error instanceof CallReverted) return decodeRevert(error, speech);
      if (refusesGas(error)) throw new GasCapped(printable(error.cause.message));
      throw error;
    }
  };

  /**
   * At the clock's time: on an idle chain the last block is old, and deadlines would seem further away than they are.
   * While it is not known whether the node can do that, it is asked in both ways at once, so that nobody waits for a
   * refusal first.
   */
  async function callAtPresent(call: object, block: string, overrides: object): Promise<unknown> {
    if (hasBlockOverrides === false) return callWithoutTime(call, block, overrides);
    const undated = hasBlockOverrides === undefined ? callWithoutTime(call, block, overrides) : undefined;
    undated?.catch(() => {});
    try {
      const time = hexQuantity(toSeconds(clock.now()));
      const answer = await chain.request('eth_call', [call, block, overrides, { time }]);
      hasBlockOverrides = true;
      return answer;
    } catch (error) {
      if (error instanceof CallReverted) hasBlockOverrides = true;
      if (!refusesParameters(error)) throw error;
      // A node that could do it before was exchanged for another one: the next request finds out.
      hasBlockOverrides = undated === undefined ? undefined : false;
      if (undated === undefined) throw error;
      return undated;
    }
  }

  async function callWithoutTime(call: object, block: string, overrides: object): Promise<unknown> {
    if (Object.keys(overrides).length === 0) return chain.request('eth_call', [call, block]);
    try {
      return await chain.request('eth_call', [call, block, overrides]);
    } catch (error) {
      if (refusesParameters(error))
        throw new OverridesUnsupported('eth_call takes no overrides', { cause: error });
      throw error;
    }
  }
}

/** On top of the operation's own limits: the EntryPoint, the call data, and the call that is made afterwards. */
const gasBesidesLimits = 5_000_000n;

/**
 * The most that a simulation can need. Without this limit the node would go on to its own cap, which is often tens of
 * times as much. An account whose code loops would occupy the node that long.
 */
function sumGas({ op, paymasterAndData }: Simulation, { form }: Speech): bigint {
  const { callGasLimit, verificationGasLimit, preVerificationGas } = op;
  const paymasterGas = paymasterAndData === '0x' ? 0n : form.paymasterGasOf(op, paymasterAndData);
  const limits = callGasLimit + verificationGasLimit + preVerificationGas + paymasterGas;
  // A call passes on 63/64 of the remaining gas.
  return (limits * 66n) / 64n + gasBesidesLimits;
}

/** The node refuses to give a call that much gas; smaller limits may work. */
function refusesGas(error: unknown): error is DomainError & { readonly cause: RpcError } {
  if (!(error instanceof DomainError) || !(error.cause instanceof RpcError)) return false;
  const text = error.cause.message.toLowerCase();
  const gas = text.indexOf('gas');
  if (gas < 0) return false;
  return (
    /gas (?:limit|cap|allowance)/.test(text) || text.includes('exceed') || text.includes('too high', gas)
  );
}

/** The node does not know the parameters, as opposed to being busy or broken: asking again would not help. */
function refusesParameters(error: unknown): boolean {
  if (!(error instanceof DomainError) || !(error.cause instanceof RpcError) || refusesGas(error))
    return false;
  return invalidParameters.has(error.cause.code) || /argument|param|override/i.test(error.cause.message);
}

function stateOverrides(
  { op, paymasterAndData }: Simulation,
  entryPoint: Address,
  { simulation: { codeArtifact } }: Speech,
): Readonly<Record<string, StateOverride>> {
  const code = codeArtifact === undefined ? undefined : simulationCode(codeArtifact);
  // `deposits` is the first state variable of every EntryPoint; its first word is the deposit.
  const deposit = paymasterAndData === '0x' ? { [depositSlot(op.sender)]: senderDeposit } : undefined;
  const delegate = op.eip7702Auth?.address;
  return {
    ...(code === undefined && deposit === undefined
      ? {}
      : {
          [entryPoint]: {
            ...(code === undefined ? {} : { code }),
            ...(deposit === undefined ? {} : { stateDiff: deposit }),
          },
        }),
    ...(delegate === undefined ? {} : { [op.sender]: { code: `0xef0100${delegate.slice(2)}` as const } }),
  };
}

function depositSlot(account: string): Hex {
  return asHex(keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [account, 0])));
}

function encode({ op, paymasterAndData, target }: Simulation, { methods, form }: Speech): Hex {
  return asHex(
    methods.encodeFunctionData('simulateHandleOp', [
      form.abiValues(op, paymasterAndData),
      target?.address ?? zeroAddress,
      target?.data ?? '0x',
    ]),
  );
}

function decodeReturn(result: unknown, { methods, simulation }: Speech): SimulationResult {
  // An EntryPoint whose code was not overridden has no such method and no fallback.
  if (simulation.answersBy === 'revert' || !isHexBytes(result) || result === '0x')
    throw new OverridesUnsupported('simulateHandleOp returned nothing');
  return toResult(methods.decodeFunctionResult('simulateHandleOp', result)[0]);
}

function decodeRevert({ data, message }: CallReverted, speech: Speech): SimulationResult {
  const { methods, simulation } = speech;
  const answer = methods.getError('ExecutionResult');
  if (answer !== null && data.startsWith(answer.selector))
    return toResult(methods.decodeErrorResult(answer, data));
  const failure = data === '0x' ? null : failures.parseError(data);
  // Error(string) and Panic are not the EntryPoint's verdict on the operation.
  if (failure?.name.startsWith('FailedOp') === true) {
    const { reason, inner } = failure.args.toObject();
    if (String(reason).startsWith(outOfGas)) throw new GasCapped(printable(String(reason)));
    const text = printable(String(reason));
    const Failure = text.startsWith('AA3') ? PaymasterFailed : DomainError;
    if (!isHexBytes(inner) || inner === '0x') throw estimationFailed(text, undefined, Failure);
    const cause = explainRevert(inner);
    throw estimationFailed(`${text}: ${cause.text}`, cause.remedy, Failure);
  }
  if (simulation.answersBy === 'return' && data === '0x') throw new OverridesUnsupported(message);
  if (data === '0x') throw estimationFailed('the EntryPoint reverted without a reason');
  const { text, remedy } = explainRevert(data);
  throw estimationFailed(`the EntryPoint reverted: ${text}`, remedy);
}

function toResult(values: { readonly [name: string]: unknown }): SimulationResult {
  const validation = values['accountValidationData'];
  return {
    preOpGas: BigInt(String(values['preOpGas'])),
    accountValidationData: typeof validation === 'bigint' ? validation : undefined,
    paid: BigInt(String(values['paid'])),
    targetSuccess: values['targetSuccess'] === true,
    targetResult: asHex(String(values['targetResult'])),
  };
}

/**
 * The operation with a signature from which accounts can recover a signer. Bytes that cannot be a signature would revert; a wrong
 * signature is only reported.
 */
export function withSignature<Op extends { readonly signature: Hex }>(op: Op): Op {
  return op.signature === '0x' ? { ...op, signature: bytesToHex(stubSignature()) } : op;
}

/** `remedy` says what the caller can do, if that is better known than what the beginning of `reason` tells. */
export function estimationFailed(
  reason: string,
  remedy = remedyOfReason(reason),
  Failure: typeof DomainError = DomainError,
): DomainError {
  return new Failure('ESTIMATION_FAILED', `gas estimation failed: ${reason}`, {
    reason: 'ESTIMATION_FAILED',
    ...(remedy === undefined ? {} : { remedy }),
  });
}

const require = createRequire(import.meta.url);

/** Runtime code of the EntryPoint with simulation methods; Node keeps the parsed file, so it is read once. */
function simulationCode(name: string): Hex {
  const path = `../../../contracts/artifacts/third-party/${name}.json`;
  const artifact: unknown = require(path);
  if (typeof artifact !== 'object' || artifact === null || !('deployedBytecode' in artifact))
    throw new TypeError(`${path} must hold deployedBytecode`);
  return asHex(String(artifact.deployedBytecode));
}

function asHex(text: string): Hex {
  if (!isHexBytes(text)) throw new TypeError('expected whole bytes of hex');
  return text;
}
