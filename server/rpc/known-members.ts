import { quote, type Problem } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { unknownFields, type FieldNames } from '../../core/schema/unknown-fields.js';

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
const rows = rowsOf(members);

function rowsOf(known: Members): Rows {
  const checked = Object.entries(known).filter(([, type]) => type !== read);
  return new Map(
    checked.map(([name, type]) => [
      name,
      isType(type) ? { type, inner: undefined } : { type: object, inner: rowsOf(type) },
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

const names = namesOf(members);

function namesOf(known: Members): FieldNames {
  return {
    properties: Object.fromEntries(
      Object.entries(known).map(([name, type]) => [name, isType(type) ? {} : namesOf(type)]),
    ),
  };
}

function isType(type: Type | Members): type is Type {
  return typeof type['is'] === 'function';
}
