import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { DomainError, invalidInput, messageOf, quote } from '../../core/errors.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { Kind } from '../../core/resources/kinds.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';
import { unitNames, unitOf } from '../../core/usage/units.js';
import { mergePatch } from '../../server/dashboard/manage/edit.js';
import { parseChainId } from '../chain-id.js';
import { collect } from '../terminal.js';

// Options instead of YAML for what most people write: a row for each, with the member of the spec that it stands for.

type Spec = Readonly<Record<string, unknown>>;
type Row = {
  readonly flags: string;
  /** Below `spec`. */
  readonly member: string;
  readonly says: string;
  /** Of the text that was given. Throws INVALID_INPUT, which names `flag`. */
  readonly read?: (text: string, flag: string) => unknown;
  readonly isList?: true;
  /** The policy that it makes: of these there is one. */
  readonly policyType?: string;
};

export type ShortForm = {
  readonly kind: Kind;
  readonly rows: readonly Row[];
  /** What is not said otherwise. */
  readonly usual: Spec;
  /** A name, where none is given. */
  readonly nameOf?: (spec: Spec) => string;
};

const paymasterRow: Row = {
  flags: '--paymaster <name>',
  member: 'paymasterRef.name',
  says: 'the paymaster that it belongs to; default: the only one',
};
const limitExample = '20/day, 0.05 ether/week or 100 dollars/month; without a time for ever';
const limitRows: readonly Row[] = [
  ['--per-user', 'SMART_ACCOUNT', 'each account'],
  ['--total', 'PAYMASTER', 'all accounts together'],
].map(([flag = '', scope = '', whose = '']) => ({
  flags: `${flag} <limit>`,
  member: 'spendingLimit',
  says: `what ${whose} may use: ${limitExample}`,
  read: (text) => ({ scope, ...limitOf(text, flag) }),
  policyType: 'PAYMASTER_SA_LIMIT',
}));
const shadowRow: Row = {
  flags: '--shadow',
  member: 'enforcement',
  says: 'judge and count, and never refuse',
  read: () => 'Shadow',
};

/** By the operation that writes the same as a whole. */
export const shortForms: Readonly<Record<string, ShortForm>> = {
  createPaymasterObject: {
    kind: 'Paymaster',
    // What nobody has registered is not sponsored.
    usual: { type: 'HYBRID', defaultContractAction: 'Deny' },
    rows: [
      {
        flags: '--chain-id <id>',
        member: 'chainId',
        says: 'the chain, of "paymaster chain list"',
        read: parseChainId,
      },
      {
        flags: '--version <version>',
        member: 'version',
        says: 'of the contract, as "paymaster chain list -o yaml" has it',
      },
    ],
  },
  createContractObject: {
    kind: 'SmartContract',
    usual: {},
    rows: [
      paymasterRow,
      { flags: '--address <address>', member: 'address', says: 'where it is on the chain' },
      {
        flags: '--abi <file>',
        member: 'abi',
        says: 'its ABI as JSON, or what a compiler wrote, with a member abi',
        read: readAbi,
      },
      {
        flags: '--method <method>',
        member: 'whitelistedMethods',
        says: 'a method that is sponsored, e.g. mint; may be repeated',
        isList: true,
      },
    ],
  },
  createPolicyObject: {
    kind: 'PaymasterPolicy',
    usual: {},
    rows: [
      paymasterRow,
      ...limitRows,
      {
        flags: '--webhook <url>',
        member: 'webhook.url',
        says: 'ask this host of yours',
        policyType: 'WEBHOOK',
      },
      {
        flags: '--allow-deployments',
        member: 'walletDeployment',
        says: 'let operations pass that only deploy their account',
        read: () => ({}),
        policyType: 'WALLET_DEPLOYMENT',
      },
      shadowRow,
    ],
  },
};

/** Written as a whole, so that the same command makes it and changes it. */
export const limitForm: ShortForm = {
  kind: 'PaymasterPolicy',
  usual: {},
  rows: [paymasterRow, ...limitRows, shadowRow],
  nameOf({ paymasterRef, spendingLimit }) {
    const isOfAll = isObject(spendingLimit) && spendingLimit['scope'] === 'PAYMASTER';
    return `${String(isObject(paymasterRef) && paymasterRef['name'])}-${isOfAll ? 'total' : 'per-user'}`;
  },
};

export function withShortForm(command: Command, { rows, nameOf }: ShortForm): Command {
  command.argument('[name]', nameOf === undefined ? 'its name' : 'its name; default: by paymaster and limit');
  for (const { flags, says, isList } of rows) {
    const option = new Option(flags, says);
    command.addOption(isList ? option.argParser(collect).default([]) : option);
  }
  return command.option('--dry-run', 'write nothing; print the manifest to commit');
}

/**
 * What the options and the file say together: name, labels and spec. `onlyPaymaster` is asked where a paymaster is not named. Throws
 * INVALID_INPUT, which names options.
 */
export async function readShortForm(
  form: ShortForm,
  name: string | undefined,
  options: Readonly<Record<string, unknown>>,
  file: unknown,
  onlyPaymaster: () => Promise<string | undefined>,
): Promise<Readonly<Record<string, unknown>>> {
  const used = form.rows.filter(({ flags }) => isGiven(options[attributeOf(flags)]));
  const isFile = isObject(file) && Object.keys(file).length > 0;
  if (name === undefined && used.length === 0) {
    if (isFile) return file;
    throw invalidInput({
      field: 'NAME',
      expected: `given with ${form.rows.map(({ flags }) => flagOf(flags)).join(', ')}, or -f FILE`,
    });
  }
  const kinds = form.rows.filter(({ policyType }) => policyType !== undefined);
  const policies = used.filter((row) => kinds.includes(row));
  if (kinds.length > 0 && policies.length === 0 && !isFile)
    throw invalidInput({
      field: 'the policy',
      expected: `one of ${kinds.map(({ flags }) => flagOf(flags)).join(', ')}`,
    });
  if (policies.length > 1)
    throw invalidInput({
      field: policies.map(({ flags }) => flagOf(flags)).join(' and '),
      expected: 'given to two commands: each makes a policy',
    });
  let spec = mergePatch(form.usual, isObject(file) ? (file['spec'] ?? {}) : {}) as Spec;
  for (const { flags, member, read, policyType } of used) {
    const value = options[attributeOf(flags)];
    const said = Array.isArray(value) || read === undefined ? value : read(String(value), flagOf(flags));
    spec = mergePatch(spec, { ...nested(member.split('.'), said), ...given({ policyType }) }) as Spec;
  }
  if (form.rows.includes(paymasterRow) && spec['paymasterRef'] === undefined) {
    const only = await onlyPaymaster();
    if (only === undefined)
      throw invalidInput({
        field: '--paymaster',
        expected: 'the name of one, as "paymaster paymaster list" has it',
      });
    spec = { paymasterRef: { name: only }, ...spec };
  }
  const called = name ?? (isObject(file) ? file['name'] : undefined) ?? form.nameOf?.(spec);
  const written = { ...(isObject(file) && file), name: called, spec: { name: called, ...spec } };
  // Rules in CEL are compiled, which no other command waits for.
  const { validateResource } = await import('../../core/resources/validate.js');
  const problems = validateResource(form.kind, {
    metadata: { name: typeof called === 'string' ? called : '', namespace: 'any' },
    spec: written.spec,
  }).map(({ field, ...rest }) => ({ field: optionFor(form, field) ?? field, ...rest }));
  if (problems.length > 0) throw invalidInput(problems);
  return written;
}

/** To be committed, and applied by kubectl or "paymaster apply". */
export function manifestOf(
  { kind }: ShortForm,
  { name, labels, spec }: Readonly<Record<string, unknown>>,
  namespace: string | undefined,
) {
  return { apiVersion, kind, metadata: { name, ...given({ namespace, labels }) }, spec };
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}

function flagOf(flags: string): string {
  return flags.split(' ')[0] ?? '';
}

function attributeOf(flags: string): string {
  return new Option(flags).attributeName();
}

function optionFor({ rows }: ShortForm, field: string): string | undefined {
  if (field === 'metadata.name') return 'NAME';
  const row = rows.find(({ member }) => {
    const [first = ''] = member.split('.');
    return (
      field === `spec.${first}` || field.startsWith(`spec.${first}.`) || field.startsWith(`spec.${first}[`)
    );
  });
  return row && flagOf(row.flags);
}

function nested([first = '', ...rest]: readonly string[], value: unknown): Spec {
  return { [first]: rest.length === 0 ? value : nested(rest, value) };
}

const cycles: Readonly<Record<string, Spec>> = {
  hour: { cycleDuration: { value: 1, unit: 'hour' } },
  day: { cycleDuration: { value: 1, unit: 'day' } },
  week: { calendar: { every: 'week', timeZone: 'UTC' } },
  month: { calendar: { every: 'month', timeZone: 'UTC' } },
};

/** `20/day`, `0.05 ether/week`. */
function limitOf(text: string, flag: string): Spec {
  const [amount = '', time, ...more] = text.split('/').map((part) => part.trim());
  const at = amount.split('').findIndex((char) => !'0123456789.'.includes(char));
  const [threshold, noun] = at === -1 ? [amount, ''] : [amount.slice(0, at), amount.slice(at).trim()];
  const thresholdType = unitNames.find((name) =>
    noun === '' ? unitOf(name).decimals === 0 : unitOf(name).noun.startsWith(noun.toLowerCase()),
  );
  const cycle = time === undefined ? { never: {} } : cycles[time];
  if (threshold === '' || thresholdType === undefined || cycle === undefined || more.length > 0)
    throw invalidInput({
      field: flag,
      expected: `like ${limitExample} (units: ${unitNames.map((name) => unitOf(name).noun).join(', ')}; times: ${Object.keys(cycles).join(', ')})`,
      value: quote(text),
    });
  return { threshold, thresholdType, ...cycle };
}

function readAbi(file: string, flag: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${flag}: ${messageOf(cause)}`, { cause });
  }
  const parsed = parseJson(text);
  const abi = isObject(parsed) ? parsed['abi'] : parsed;
  if (!Array.isArray(abi))
    throw invalidInput({ field: flag, expected: 'a file with an ABI as JSON', value: quote(file) });
  return JSON.stringify(abi);
}
