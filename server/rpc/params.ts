import { requireObject } from '../http/json.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { DomainError, invalidInput, isDomainError, type Problem, quote } from '../../core/errors.js';
import type { SigningPhase } from '../../core/policy/rules/served.js';
import { campaignName } from '../../core/policy/rules/campaign.js';
import type { TokenChoice } from '../../core/pricing/token-list.js';
import { isObject } from '../../core/schema/json-value.js';
import { type FieldNames, unknownFields } from '../../core/schema/unknown-fields.js';
import { type AddressKey, isAddressText, toAddressKey } from '../../core/units/address.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import type { SponsorRequest } from '../decision/request.js';
import type { RequestOrigin } from './method.js';

export type Mode = 'SPONSORED' | 'ERC20';

/** The service document writes `SPONSORED` and, in its text, `SPONSORSHIP`. */
const modes: Readonly<Record<string, Mode>> = {
  SPONSORED: 'SPONSORED',
  SPONSORSHIP: 'SPONSORED',
  ERC20: 'ERC20',
};

/** Bodies may nest as deep as the parser allows, but the code that writes the data for a webhook is recursive. */
const maxWebhookDataDepth = 32;

/** The second parameter; members that its mode does not use are ignored. Throws INVALID_INPUT with every problem. */
function parseModeParams(given: unknown, path = 'params[1]') {
  const value = requireObject(given, path, 'an object such as {"mode": "SPONSORED"}');
  const problems: Problem[] = [];
  const params = {
    /** Undefined when the caller names none. */
    mode: readMode(value['mode'], path, problems),
    calculateGasLimits: readFlag(value['calculateGasLimits'], `${path}.calculateGasLimits`, problems),
    expirySeconds: readExpiry(value['expiryDuration'], path, problems),
    phase: readPhase(value['signingPhase'], path, problems),
    campaign: readCampaign(value['sponsorshipPolicyId']),
    webhookData: readWebhookData(value['sponsorshipInfo'], path, problems),
    members: value,
  };
  checkMembers(value, path, problems);
  if (problems.length > 0) throw invalidInput(problems);
  return params;
}

/** `[partial user operation, mode object]`. Throws INVALID_INPUT with the problems of both. */
export function parseSponsorParams(
  params: readonly unknown[],
  { entryPointVersion }: { readonly entryPointVersion: EntryPointVersion },
  { requestId, callerRequestId, method }: RequestOrigin,
  modePath = 'params[1]',
  operationPath = 'params[0]',
) {
  const [op, given] = parseBoth(
    () => parseUserOperation(params[0], entryPointVersion, operationPath),
    () => parseModeParams(params[1], modePath),
  );
  const { mode, calculateGasLimits, expirySeconds, webhookData, members, phase, campaign } = given;
  const request: SponsorRequest = {
    op,
    calculateGasLimits,
    expirySeconds,
    webhookData,
    requestId,
    callerRequestId,
    method,
    ...(campaign === undefined ? {} : { campaign }),
  };
  // `members`: the mode object itself, for members that only one method uses.
  return { mode, members, request: phase === undefined ? request : { ...request, phase } };
}

/** For methods that sign in one phase: a caller that asks for two must not get a signature at once. Throws INVALID_INPUT. */
export function requireOnePhase({ phase }: SponsorRequest, path = 'params[1]'): void {
  if (phase !== undefined)
    throw invalidInput({
      field: `${path}.signingPhase`,
      expected: 'left out: only pm_getPaymasterData signs in two phases',
      value: quote(phase),
    });
}

/** Runs both parsers, so that a caller hears of every mistake at once. */
function parseBoth<A, B>(first: () => A, second: () => B): readonly [A, B] {
  let parsed: A;
  try {
    parsed = first();
  } catch (error) {
    const problems = listProblems(error);
    try {
      second();
    } catch (other) {
      throw invalidInput([...problems, ...listProblems(other)]);
    }
    throw error;
  }
  return [parsed, second()];
}

function listProblems(error: unknown): readonly Problem[] {
  if (isDomainError(error, 'INVALID_INPUT')) return error.details.problems ?? [];
  throw error;
}

/** `tokenInfo` of a quote request, whose types are checked: an absent or empty member asks for all tokens. Throws INVALID_INPUT. */
export function parseTokenChoice({ tokenInfo }: Readonly<Record<string, unknown>>): TokenChoice {
  if (!isObject(tokenInfo)) return {};
  const path = 'params[1].tokenInfo';
  const { preferredToken, tokenList } = tokenInfo;
  const problems: Problem[] = [];
  const tokens: unknown = isMissing(tokenList) ? [] : tokenList;
  const isList = Array.isArray(tokens) && tokens.length <= maxTokens;
  if (!isList)
    problems.push({
      field: `${path}.tokenList`,
      expected: `an array of at most ${maxTokens} addresses`,
      value: quote(tokenList),
    });
  const preferred = isMissing(preferredToken)
    ? []
    : readAddresses([preferredToken], () => `${path}.preferredToken`, problems);
  const list = readAddresses(isList ? tokens : [], (index) => `${path}.tokenList[${index}]`, problems);
  if (problems.length > 0) throw invalidInput(problems);
  const [first] = preferred;
  return { tokenList: list, ...(first === undefined ? {} : { preferredToken: first }) };
}

/** A list of tokens. Throws INVALID_INPUT. */
export function parseTokens(values: readonly unknown[], path: string): readonly string[] {
  const problems: Problem[] = [];
  if (values.length > maxTokens)
    problems.push({
      field: path,
      expected: `at most ${maxTokens} addresses`,
      value: `${values.length} of them`,
    });
  const tokens = readAddresses(values.slice(0, maxTokens), (index) => `${path}[${index}]`, problems);
  if (problems.length > 0) throw invalidInput(problems);
  return tokens;
}

/** Far more tokens than a chain serves; each one is looked up, and answered, by its address. */
export const maxTokens = 1000;

/**
 * The token to pay in: `tokenInfo.feeTokenAddress` of the mode object, or `token`, the name that other services use in an
 * ERC-7677 context. Throws FEE_TOKEN_REQUIRED when no token is named, INVALID_INPUT when the value is not an address.
 */
export function parseFeeToken(members: Readonly<Record<string, unknown>>, path = 'params[1]'): AddressKey {
  const { tokenInfo, token } = members;
  const named = isObject(tokenInfo) ? tokenInfo['feeTokenAddress'] : undefined;
  const field = isMissing(named) ? `${path}.token` : `${path}.tokenInfo.feeTokenAddress`;
  const feeToken = isMissing(named) ? token : named;
  if (isMissing(feeToken))
    throw new DomainError(
      'FEE_TOKEN_REQUIRED',
      `${path}.tokenInfo.feeTokenAddress must be given in mode ERC20: the address of the token to pay in`,
    );
  if (isAddressText(feeToken)) return toAddressKey(feeToken);
  throw invalidInput({ field, expected: 'the address of a token', value: quote(feeToken) });
}

/** Some clients send empty text for values that they do not have. */
function isMissing(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function readAddresses(
  values: readonly unknown[],
  fieldOf: (index: number) => string,
  problems: Problem[],
): readonly string[] {
  return values.flatMap((value, index) => {
    if (isAddressText(value)) return [value];
    problems.push({ field: fieldOf(index), expected: 'the address of a token', value: quote(value) });
    return [];
  });
}

export function modeRequired(): DomainError {
  return invalidInput({ field: 'params[1].mode', expected: 'one of SPONSORED, ERC20' });
}

function readMode(value: unknown, path: string, problems: Problem[]): Mode | undefined {
  if (value === undefined || value === null) return undefined;
  const name = typeof value === 'string' ? value.toUpperCase() : '';
  if (Object.hasOwn(modes, name)) return modes[name];
  problems.push({ field: `${path}.mode`, expected: 'one of SPONSORED, ERC20', value: quote(value) });
  return undefined;
}

export function readFlag(value: unknown, field: string, problems: Problem[]): boolean | undefined {
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined;
  problems.push({ field, expected: 'true or false', value: quote(value) });
  return undefined;
}

/**
 * The longest expiry that a caller may ask for, in seconds. The caps of chain and paymaster shorten it without an error,
 * since clients ask for fixed figures.
 */
export const maxExpiryAsked = 86_400;

function readPhase(value: unknown, path: string, problems: Problem[]): SigningPhase | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === 'commit' || value === 'finalize') return value;
  problems.push({ field: `${path}.signingPhase`, expected: '"commit" or "finalize"', value: quote(value) });
  return undefined;
}

/** Its type is checked with the other members. Callers choose the text, and it is recorded: one that is not a name is "". */
export function readCampaign(value: unknown): string | undefined {
  if (isMissing(value)) return undefined;
  return typeof value === 'string' && campaignName.test(value) ? value : '';
}

function readExpiry(value: unknown, path: string, problems: Problem[]): number | undefined {
  if (value === undefined || value === null) return undefined;
  const seconds = typeof value === 'string' && /^[0-9]{1,9}$/.test(value) ? Number(value) : value;
  const isWhole = typeof seconds === 'number' && Number.isInteger(seconds);
  if (isWhole && seconds >= 1 && seconds <= maxExpiryAsked) return seconds;
  problems.push({
    field: `${path}.expiryDuration`,
    expected: `a whole number of seconds from 1 to ${maxExpiryAsked}`,
    value: quote(value),
  });
  return undefined;
}

/** Its type is checked with the other members. */
function readWebhookData(sponsorshipInfo: unknown, path: string, problems: Problem[]): unknown {
  const data = isObject(sponsorshipInfo) ? sponsorshipInfo['webhookData'] : undefined;
  if (!isObject(data)) return {};
  if (!isShallow(data, maxWebhookDataDepth))
    problems.push({
      field: `${path}.sponsorshipInfo.webhookData`,
      expected: `nested at most ${maxWebhookDataDepth} deep`,
    });
  return data;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isShallow(member, depth - 1));
}

type Type = { readonly expected: string; readonly is: (value: unknown) => boolean };
type Members = { readonly [name: string]: Type | Members };

const text: Type = { expected: 'text', is: (value) => typeof value === 'string' };
const flag: Type = { expected: 'true or false', is: (value) => typeof value === 'boolean' };
const object: Type = { expected: 'an object', is: isObject };
const list: Type = { expected: 'an array', is: Array.isArray };
/** Read in every mode by a separate parser. */
const read: Type = { expected: '', is: () => true };

/**
 * Every member of a mode object or context, whatever its mode and method use. One of a wrong type is a mistake in any of them; an
 * unknown one never is, because clients send members for other services.
 */
const members: Members = {
  mode: read,
  calculateGasLimits: read,
  expiryDuration: read,
  signingPhase: read,
  otherwise: read,
  callWebhook: flag,
  sponsorshipPolicyId: text,
  token: text,
  tokenInfo: { preferredToken: text, tokenList: list, feeTokenAddress: text },
  sponsorshipInfo: { webhookData: object, smartAccountInfo: { name: text, version: text } },
};

/** The same by name, made once: every request is checked. */
type Row = { readonly type: Type; readonly inner: Rows | undefined };
type Rows = ReadonlyMap<string, Row>;
const rows = compileRows(members);

function compileRows(known: Members): Rows {
  const checked = Object.entries(known).filter(([, type]) => type !== read);
  return new Map(
    checked.map(([name, type]) => [
      name,
      isType(type) ? { type, inner: undefined } : { type: object, inner: compileRows(type) },
    ]),
  );
}

/** Adds a problem for each known member whose type is wrong. Absent, null and empty text mean that it is missing. */
export function checkMembers(
  value: Readonly<Record<string, unknown>>,
  path: string,
  problems: Problem[],
  known: Rows = rows,
): void {
  // A request has few members of those that are known, and JSON has no inherited ones.
  for (const name in value) {
    const row = known.get(name);
    if (row === undefined) continue;
    const member = value[name];
    if (member === undefined || member === null || member === '') continue;
    if (!row.type.is(member))
      problems.push({ field: `${path}.${name}`, expected: row.type.expected, value: quote(member) });
    else if (row.inner !== undefined && isObject(member))
      checkMembers(member, `${path}.${name}`, problems, row.inner);
  }
}

/** Whether a top-level member has a meaning of ours. */
export function isKnownMember(name: string): boolean {
  return Object.hasOwn(members, name);
}

/** One sentence for each unknown member, for people: a misspelt one silently means its default. */
export function ignoredMembers(value: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  return unknownFields(names, value, path).map(({ field, nearest }) =>
    nearest === undefined
      ? `${field}: not known, ignored`
      : `${field}: not known, ignored: did you mean ${nearest}?`,
  );
}

const names = fieldNames(members);

function fieldNames(known: Members): FieldNames {
  return {
    properties: Object.fromEntries(
      Object.entries(known).map(([name, type]) => [name, isType(type) ? {} : fieldNames(type)]),
    ),
  };
}

function isType(type: Type | Members): type is Type {
  return typeof type['is'] === 'function';
}
