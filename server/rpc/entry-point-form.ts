import { entryPointRules } from '../../core/entry-point/table.js';
import { DomainError, invalidInput, isDomainError, quote } from '../../core/errors.js';
import { type Later, recover } from '../../core/pending.js';
import { refusedError } from '../../core/refused-error.js';
import { isObject } from '../../core/schema/json-value.js';
import { isAddressText } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { Sponsored, SponsorRequest, Sponsorship, TokenPaymentRequest } from '../decision/request.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { readContext, refuseUnreadToken } from './contexts.js';
import type { RequestOrigin } from './method.js';
import { type Otherwise, readOtherwise } from './otherwise.js';
import { parseFeeToken, parseSponsorParams } from './params.js';

// Forms of params that name the EntryPoint: ERC-7677's two methods and permissionless' pm_sponsorUserOperation. Their
// clients expect a refusal to be an error, and only read errors from HTTP 200 answers.

type EntryPointParams = {
  readonly entryPoint: unknown;
  readonly context: unknown;
  /** Paths in the request, for messages. */
  readonly contextPath: string;
  readonly entryPointPath?: string;
  readonly operationPath?: string;
};

/** A request of either mode. */
export type ModeRequest =
  | { readonly mode: 'SPONSORED'; readonly request: SponsorRequest; readonly otherwise?: Otherwise }
  | { readonly mode: 'ERC20'; readonly request: TokenPaymentRequest };

/**
 * Reads `[operation, …]`, with the vendor's mode object as the context. A context that is absent, null or without a mode
 * means SPONSORED, unless it names a token, also as contexts of other services do: `{"token": "0x…"}` means ERC20.
 * Throws INVALID_INPUT when the EntryPoint is not the one of the paymaster's profile.
 */
export function parseEntryPointParams(
  operation: unknown,
  { entryPoint, context, contextPath, entryPointPath = 'params[1]', operationPath }: EntryPointParams,
  profile: ServedProfile,
  origin: RequestOrigin & { readonly paymaster: ServedPaymaster },
): ModeRequest {
  requireEntryPoint(entryPoint, profile, entryPointPath);
  const params = [operation, context ?? {}];
  const parsed = parseSponsorParams(params, profile, origin, contextPath, operationPath);
  requirePhases(parsed.request, profile, contextPath);
  const { members, payment, campaign, webhookData } = readContext(
    parsed.members,
    contextPath,
    origin.paymaster,
  );
  const request = {
    ...parsed.request,
    ...(parsed.request.campaign === undefined ? given({ campaign }) : {}),
    ...given({ webhookData }),
  };
  const mode = parsed.mode ?? (namesToken(members) ? 'ERC20' : 'SPONSORED');
  const otherwise = readOtherwise(members, mode, contextPath, request.phase);
  if (mode === 'ERC20') {
    const feeToken = parseFeeToken(members, contextPath);
    // The most that may be paid is in units of the other token.
    if (payment !== undefined && feeToken !== payment.token)
      throw invalidInput({
        field: `${contextPath}.erc20Context.tokenAddress`,
        expected: `${feeToken}, the token that the context names beside it`,
        value: quote(payment.token),
      });
    return { mode, request: { ...request, feeToken, ...given({ maxTokenAmount: payment?.most }) } };
  }
  if (parsed.mode === undefined) refuseUnreadToken(members, contextPath);
  return { mode, request, ...given({ otherwise }) };
}

function namesToken({ token, tokenInfo }: Readonly<Record<string, unknown>>): boolean {
  return token !== undefined || (isObject(tokenInfo) && isAddressText(tokenInfo['feeTokenAddress']));
}

/** Throws INVALID_INPUT. */
export function requireEntryPoint(value: unknown, profile: ServedProfile, field: string): void {
  if (isAddressText(value) && value.toLowerCase() === profile.entryPointKey) return;
  const expected = `the EntryPoint of this paymaster, ${profile.entryPoint}`;
  throw invalidInput({ field, expected, value: quote(value) });
}

/** Two phases need a contract that reads the paymaster's signature apart from its data. Throws INVALID_INPUT. */
export function requirePhases(
  { phase }: SponsorRequest,
  { readsTail, version }: ServedProfile,
  contextPath: string,
): void {
  if (phase === undefined || readsTail) return;
  const expected = `left out: the contract of version "${version}" reads no separate paymaster signature (EntryPoint 0.9)`;
  throw invalidInput({ field: `${contextPath}.signingPhase`, expected, value: quote(phase) });
}

/**
 * ERC-7677: `[operation, entryPoint, chainId, context]`. The request's chain must be the paymaster's; it may be hex, as
 * the ERC says, or a number.
 */
export function parseErc7677Params(
  params: readonly unknown[],
  profile: ServedProfile,
  paymaster: ServedPaymaster,
  origin: RequestOrigin,
): ModeRequest {
  const [operation, entryPoint, chainId, context] = params;
  requireChainId(chainId, paymaster, 'params[2]');
  const form = { entryPoint, context, contextPath: 'params[3]' };
  return parseEntryPointParams(operation, form, profile, { ...origin, paymaster });
}

/** In hex, decimal text or a number. Throws INVALID_INPUT. */
export function requireChainId(value: unknown, { chainId }: ServedPaymaster, field: string): void {
  const isText = typeof value === 'string' && /^(?:0x[0-9a-fA-F]{1,14}|[0-9]{1,15})$/.test(value);
  if ((isText || typeof value === 'number') && Number(value) === chainId) return;
  throw invalidInput({ field, expected: `the chain of this paymaster, ${chainId}`, value: quote(value) });
}

/** Throws the refusal as an error. `isPayer`: mode ERC20, in which `0x` is not a fallback, since the user already pays. */
export function requireSponsored(
  sponsorship: Sponsorship,
  { isPayer }: { readonly isPayer: boolean },
): Sponsored {
  if (sponsorship.outcome === 'sponsored') return sponsorship;
  throw refusedError(sponsorship.refusal, { isPayer });
}

/**
 * In the form with a mode object a request names no EntryPoint. An operation that was made for 0.6 and comes to a paymaster of a later
 * one fails in its simulation, and what the EntryPoint answers would not tell its sender why. Throws or rejects as `ask`.
 */
export function namingEntryPoint<T>(
  { entryPoint, entryPointVersion }: ServedProfile,
  operation: unknown,
  ask: () => Later<T>,
): Later<T> {
  return recover(ask, (error): never => {
    const { hasPaymasterFields } = entryPointRules[entryPointVersion].form;
    if (!isDomainError(error, 'ESTIMATION_FAILED') || !hasPaymasterFields || !isOfFirstForm(operation))
      throw error;
    throw new DomainError(
      error.code,
      `${error.message} (the operation has the form of EntryPoint 0.6, and this paymaster is for ${entryPointVersion}, ${entryPoint}: an account of another EntryPoint fails here)`,
      error.details,
    );
  });
}

function isOfFirstForm(operation: unknown): boolean {
  if (!isObject(operation)) return false;
  const isGiven = (name: string): boolean => operation[name] !== undefined && operation[name] !== null;
  return (
    (isGiven('initCode') || isGiven('paymasterAndData')) &&
    !['factory', 'paymaster', 'accountGasLimits', 'gasFees'].some(isGiven)
  );
}
