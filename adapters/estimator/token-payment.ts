import { CallReverted, type Chain } from '../../core/chain/chain.js';
import { isDomainError } from '../../core/errors.js';
import { encodeCall } from '../../core/paymaster/abi.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import {
  decidePayment,
  toTrial,
  type ObservedPayment,
  type SimulatedPayment,
} from '../../core/paymaster/token-payment.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type {
  GroundRequest,
  PaymentGround,
  TokenPaymentChecker,
  TokenPaymentRequest,
} from '../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { simulationError } from './eth-call-gas.js';
import { estimationFailed, withSignature, type Simulator } from './simulate-handle-op.js';
import { createSimulators, type SimulatorsDeps } from './simulators.js';

/**
 * Checks by simulating the whole operation with its real callData: account creation, call, and postOp of the real
 * paymaster. All reads are from one block. Simulations do not report success, so the EntryPoint is made to ask the
 * token afterwards who received how much. In a run without the paymaster it asks what the account has and allows after
 * its call.
 */
export function createTokenPaymentChecker(deps: SimulatorsDeps): TokenPaymentChecker {
  const withSimulator = createSimulators(deps);
  return {
    async check(request) {
      // Before a turn is taken: reading it may have to wait for a turn, too.
      const known = await request.ground;
      return withSimulator(request, async ({ chain, simulate }) => {
        try {
          return decidePayment(await observe(chain, simulate, request, known), request);
        } catch (error) {
          throw simulationError(error, 'payments cannot be simulated');
        }
      });
    },
    ground: (request) => withSimulator(request, ({ chain }) => readGround(chain, request)),
    holdings: (request) =>
      withSimulator(request, async ({ chain }) => {
        const { token, account, contract } = request;
        const [balance, allowance] = await Promise.all([
          wordNow(chain, token, encodeBalanceCall(account)),
          wordNow(chain, token, encodeAllowanceCall(account, contract)),
        ]);
        return { balance, allowance };
      }),
  };
}

/** Enough for any view of a token or paymaster; without a bound the node spends as much as its own cap allows. */
const viewGas = 5_000_000n;

/** 0 when the token does not answer like a token: nothing can be taken from it. */
async function wordNow(chain: Chain, token: AddressKey, data: Hex): Promise<bigint> {
  try {
    return firstWord(await chain.call({ to: token, data, gas: viewGas })) ?? 0n;
  } catch (error) {
    if (error instanceof CallReverted) return 0n;
    throw error;
  }
}

async function observe(
  chain: Chain,
  simulate: Simulator,
  request: TokenPaymentRequest,
  known: PaymentGround | undefined,
): Promise<ObservedPayment> {
  const { op, terms, codec } = request;
  const [ground, paymasterAndData] = await Promise.all([
    known ?? readGround(chain, { codec, contract: terms.paymaster }),
    trialData(request),
  ]);
  const receivers = [...new Set([...codec.receivers(terms), ...ground.receivers])];
  const reads = tokenReads(chain, simulate, request, ground.block);
  // A payment taken in validation has to be there before the call.
  const read = terms.inAdvance === true ? reads.now : reads.afterCall;
  const [balance, allowance, payment] = await Promise.all([
    read(encodeBalanceCall(op.sender)),
    read(encodeAllowanceCall(op.sender, toAddressKey(terms.paymaster))),
    paymentTo(receivers, reads, paymasterAndData),
  ]);
  return { balance, allowance, payment };
}

type Reads = ReturnType<typeof tokenReads>;

/** Values that the token answers: now, after the call of an operation that pays for itself, and after a payment. */
function tokenReads(chain: Chain, simulate: Simulator, { op, terms }: TokenPaymentRequest, block: number) {
  const trial = withSignature(toTrial(op, terms).op);
  // 1 wei per gas: the simulated deposit is enough for it, and the account's own balance is not touched.
  const unpaid = { ...trial, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
  const simulateAt = async (simulated: FinalUserOperation, paymasterAndData: Hex, data: Hex) => {
    const target = { address: terms.token, data };
    const result = await simulate({ op: simulated, paymasterAndData, target, block });
    const word = result.targetSuccess ? firstWord(result.targetResult) : undefined;
    if (word === undefined) throw estimationFailed(`${terms.token} does not answer as a token`);
    return { word, paid: result.paid };
  };
  return {
    now: async (data: Hex) => {
      const word = firstWord(await chain.call({ to: terms.token, data, block, gas: viewGas }));
      if (word === undefined) throw estimationFailed(`${terms.token} does not answer as a token`);
      return word;
    },
    afterCall: async (data: Hex) => (await simulateAt(unpaid, '0x', data)).word,
    afterPayment: (paymasterAndData: Hex, data: Hex) => simulateAt(trial, paymasterAndData, data),
  };
}

/** The gain of all receivers together; the contract may pass tokens on from one to another. */
async function paymentTo(
  receivers: readonly AddressKey[],
  reads: Reads,
  paymasterAndData: Hex,
): Promise<SimulatedPayment> {
  try {
    const gains = await Promise.all(
      receivers.map(async (receiver) => {
        const data = encodeBalanceCall(receiver);
        const [before, after] = await Promise.all([
          reads.now(data),
          reads.afterPayment(paymasterAndData, data),
        ]);
        return { gained: after.word - before, paid: after.paid };
      }),
    );
    const received = gains.reduce((sum, { gained }) => sum + gained, 0n);
    return { outcome: 'executed', received, costWei: gains[0]?.paid ?? 0n };
  } catch (error) {
    if (!isDomainError(error, 'ESTIMATION_FAILED')) throw error;
    const { remedy } = error.details;
    return { outcome: 'refused', reason: error.message, ...(remedy === undefined ? {} : { remedy }) };
  }
}

/** The paymaster's data for the trial: valid except for its time window. */
async function trialData({ codec, op, terms, sign, inTail }: TokenPaymentRequest): Promise<Hex> {
  const trial = toTrial(op, terms);
  const item = codec.toSign(codec.hash(trial.op, trial.terms), trial.op, trial.terms);
  const data = codec.encode(trial.op, trial.terms, await sign(item));
  return inTail === true ? signatureToTail(data) : data;
}

async function readGround(
  chain: Chain,
  { codec, contract }: Pick<GroundRequest, 'codec' | 'contract'>,
): Promise<PaymentGround> {
  const [newest, named] = await Promise.all([
    chain.block('latest'),
    Promise.all(codec.receiverCalls.map((data) => receiverNamedBy(chain, contract, data))),
  ]);
  if (newest === undefined) throw estimationFailed('the chain has no block yet');
  return { block: newest.number, receivers: named.flat() };
}

/** Empty when the contract has no such view. */
async function receiverNamedBy(chain: Chain, contract: string, data: Hex): Promise<readonly AddressKey[]> {
  try {
    const answer = await chain.call({ to: contract, data, gas: viewGas });
    return /^0x0{24}[0-9a-f]{40}$/i.test(answer) ? [toAddressKey(`0x${answer.slice(26)}`)] : [];
  } catch (error) {
    if (error instanceof CallReverted) return [];
    throw error;
  }
}

function encodeBalanceCall(account: AddressKey): Hex {
  return encodeCall('function balanceOf(address account)', [account]);
}

function encodeAllowanceCall(account: AddressKey, spender: AddressKey): Hex {
  return encodeCall('function allowance(address account, address spender)', [account, spender]);
}

function firstWord(result: Hex): bigint | undefined {
  return result.length >= 66 ? BigInt(result.slice(0, 66)) : undefined;
}
