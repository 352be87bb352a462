import { requireObject } from '../http/json.js';
import { DomainError, invalidInput, isDomainError, quote } from '../../core/errors.js';
import type { ErrorCode } from '../../core/error-codes.js';
import type { SigningPhase } from '../../core/policy/rules/served.js';
import { after, type Later } from '../../core/pending.js';
import { leavesTokens, type RefusalReason } from '../../core/refusal.js';
import { isObject } from '../../core/schema/json-value.js';
import type { AddressKey } from '../../core/units/address.js';
import { isHexBytes, type Hex } from '../../core/units/hex.js';
import { Fields, uint } from '../../core/userop/fields.js';
import type {
  RefusedSponsorship,
  Sponsored,
  Sponsorship,
  SponsorRequest,
  TokenPaymentRequest,
} from '../decision/request.js';
import type { Sponsor } from '../decision/sign/sign.js';
import { inRange } from '../decision/steps/in-range.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { type Mode } from './params.js';

// `otherwise: {mode: "ERC20", feeTokenAddress, maxTokenAmount}`: the account pays in tokens where it is not sponsored. Anyone
// can cause refusals, e.g. by filling a limit that others share, so an account pays only in the token and up to the amount of its request.

/** What the account pays where it is not sponsored. `maxTokenAmount`: in base units. */
export type Otherwise = { readonly feeToken: AddressKey; readonly maxTokenAmount: bigint };

/** Throws INVALID_INPUT. `mode`: of the whole request. */
export function readOtherwise(
  { otherwise: given }: Readonly<Record<string, unknown>>,
  mode: Mode | undefined,
  path: string,
  phase?: SigningPhase,
): Otherwise | undefined {
  if (given === undefined || given === null) return undefined;
  const field = `${path}.otherwise`;
  if (mode === 'ERC20') throw leftOut(field, given, 'mode ERC20 pays in tokens anyway');
  if (phase !== undefined) throw leftOut(field, given, 'two phases are signed in the mode that is asked');
  const otherwise = requireObject(given, field, 'an object with mode, feeTokenAddress and maxTokenAmount');
  const fields = new Fields(otherwise, field);
  if (otherwise['mode'] !== 'ERC20') fields.problem('mode', 'ERC20', otherwise['mode']);
  const feeToken = fields.requiredAddress('feeTokenAddress');
  const maxTokenAmount = fields.required('maxTokenAmount', uint(256));
  fields.done();
  return { feeToken, maxTokenAmount };
}

/** For forms whose answers do not say in which mode they are. Throws INVALID_INPUT. */
export function refuseOtherwise(otherwise: Otherwise | undefined, path: string): void {
  if (otherwise !== undefined)
    throw leftOut(
      `${path}.otherwise`,
      otherwise.feeToken,
      'it is read by pm_getPaymasterStubData and in the form with a mode object, whose answers say who pays',
    );
}

function leftOut(field: string, value: unknown, why: string): DomainError {
  return invalidInput({ field, expected: `left out: ${why}`, value: quote(value) });
}

/** The answer in mode SPONSORED, or in tokens instead. */
export type Either =
  | {
      readonly mode: 'SPONSORED';
      readonly sponsorship: Sponsorship;
      /** Why there is no payment in tokens either. */
      readonly otherwise?: string;
    }
  | { readonly mode: 'ERC20'; readonly payment: Sponsored; readonly insteadOf: RefusalReason };

type Modes = { readonly sponsor: Sponsor; readonly payInTokens: Sponsor<TokenPaymentRequest> };

/** Sponsors, or else has the account pay. Throws what either throws, unless it says that no payment in tokens is signed. */
export function sponsorOrPay(
  { sponsor, payInTokens }: Modes,
  paymaster: ServedPaymaster,
  request: SponsorRequest,
  otherwise: Otherwise | undefined,
): Later<Either> {
  return after<Sponsorship, Either>(sponsor(paymaster, request), (sponsorship) =>
    otherwise === undefined || sponsorship.outcome === 'sponsored' || !leavesTokens(sponsorship.refusal)
      ? { mode: 'SPONSORED', sponsorship }
      : payInstead(payInTokens, paymaster, { ...request, ...otherwise }, sponsorship),
  );
}

async function payInstead(
  payInTokens: Modes['payInTokens'],
  paymaster: ServedPaymaster,
  request: SponsorRequest & Otherwise,
  sponsorship: RefusedSponsorship,
): Promise<Either> {
  const { reason } = sponsorship.refusal;
  try {
    const asked = {
      ...request,
      insteadOf: `instead of a sponsorship that was refused: ${reason}`,
    };
    const payment = await payInTokens(paymaster, asked);
    if (payment.outcome === 'sponsored') return { mode: 'ERC20', payment, insteadOf: reason };
    return { mode: 'SPONSORED', sponsorship, otherwise: payment.refusal.reason };
  } catch (error) {
    if (!isNoPayment(error)) throw error;
    return { mode: 'SPONSORED', sponsorship, otherwise: error.details.reason ?? error.code };
  }
}

/** Asks in tokens after an error that says that the operation is not sponsored. Throws an error that names both reasons. */
export async function elsePay<T>(refused: unknown, pay: () => Promise<T>): Promise<T> {
  if (!isDomainError(refused) || !leavesTokens(refused.details)) throw refused;
  try {
    return await pay();
  } catch (error) {
    if (!isNoPayment(error)) throw error;
    throw new DomainError(refused.code, `${refused.message} Otherwise, in tokens: ${error.message}`, {
      ...refused.details,
      otherwise: error.details.reason ?? error.code,
    });
  }
}

/** The refusal of signed data after a stub that said sponsored: tells the client that another stub, in mode ERC20, may pass. */
export function retryInTokens(error: unknown): unknown {
  if (!isDomainError(error) || !leavesTokens(error.details)) return error;
  return new DomainError(error.code, error.message, { ...error.details, retry: 'ERC20' });
}

/** Codes of errors that say nothing about whether the account could pay. */
const others: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'INTERNAL', 'INVALID_INPUT']);

function isNoPayment(error: unknown): error is DomainError {
  return isDomainError(error) && !others.has(error.code);
}

/**
 * The token of the stub that a wallet sends back in its operation. Undefined for the stub of a sponsorship and without a stub. A caller
 * gains nothing by a stub that he made up: he could ask for mode ERC20 as well.
 */
export function tokenOfStub(operation: unknown, { token }: ServedProfile): AddressKey | undefined {
  const data = readPaymasterData(operation);
  if (token === undefined || data?.slice(0, 42).toLowerCase() !== token.contractKey) return undefined;
  return inRange(() => token.codec.decode(data))?.token;
}

function readPaymasterData(operation: unknown): Hex | undefined {
  if (!isObject(operation)) return undefined;
  const { paymasterAndData, paymaster, paymasterData } = operation;
  if (isHexBytes(paymasterAndData) && paymasterAndData !== '0x') return paymasterAndData;
  // Its two gas limits, 16 bytes each, do not say who pays.
  if (isHexBytes(paymaster) && isHexBytes(paymasterData))
    return `${paymaster}${'0'.repeat(64)}${paymasterData.slice(2)}` as Hex;
  return undefined;
}
