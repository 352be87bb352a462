import { renderYaml } from '../../../adapters/manifests/yaml.js';
import { eachObject } from '../../../adapters/resources/pages.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import {
  DomainError,
  invalidInput,
  isDomainError,
  quote,
  throwIfAny,
  type Problem,
} from '../../../core/errors.js';
import { isTextMap, type Tree } from '../../../core/meta/field-tree.js';
import { apiVersion, type ObjectKey } from '../../../core/meta/meta.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateMetadata, validateName, validateResource } from '../../../core/resources/validate.js';
import { isObject } from '../../../core/schema/json-value.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import { requireQuota, unlessDeleted } from '../lookups.js';
import { dashboardManager } from '../writes.js';
import { composeEdit, manifestFields, redact, restore, toWritten, type Written } from './edit.js';
import type { Noun, NounKind } from './nouns.js';
import { computeEtag, maxLabels, formatVersion, type WrittenBody } from './record.js';
import { none, type Remarks } from './remarks.js';

// How the endpoints of a noun change its objects.

export async function create<K extends NounKind>(
  tools: Tools,
  call: Call<WrittenBody>,
  noun: Noun<K>,
  key: ObjectKey,
  isDry = false,
): Promise<Resources[K]> {
  const { dryWrites, writes, turns } = tools;
  const { create: make } = isDry ? dryWrites : writes;
  const { labels, spec } = composeNext(call.body, {});
  throwIfAny(validate(noun, key, { labels, spec }));
  return turns.run(turnName(noun, call), async () => {
    await admit(tools, call, noun, key.name, spec as Resources[K]['spec']);
    try {
      return await make(noun.kind, key, spec as never, call.principal.tokenName, labels);
    } catch (error) {
      throw isDomainError(error, 'ALREADY_EXISTS') ? alreadyExists(noun, key.name) : error;
    }
  });
}

/** `composeNext` gets what was shown and says what is wanted. */
export async function change<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
  next: (shown: Written) => Written | Promise<Written>,
): Promise<Resources[K]> {
  return (await tellChange(tools, call, noun, next)).object;
}

/**
 * The same, with the object before the change, and what the caller should know about it. `isDry`: the object stays as it is, and the
 * answer is what it would be.
 */
export async function tellChange<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
  next: (shown: Written) => Written | Promise<Written>,
  isDry = false,
): Promise<{ readonly object: Resources[K]; readonly before: Resources[K]; readonly remarks: Remarks }> {
  const key = keyOfCall(noun, call);
  const { spec: schema } = definitions[noun.kind];
  const plan = async (
    object: Resources[K],
    owned: Parameters<Parameters<typeof tools.writes.edit<K>>[2]>[1],
  ) => {
    remarks = none;
    requireMatch(call, object);
    const current = toWritten(object);
    const wanted = await next({ ...current, spec: redact(schema, current.spec) as Tree });
    const whole = { ...wanted, spec: restore(schema, wanted.spec, current.spec) as Tree };
    throwIfAny(validate(noun, key, whole, object));
    try {
      const edit = composeEdit<K>(object, owned, whole, dashboardManager);
      if (edit === undefined) return undefined;
      const spec = whole.spec as Resources[K]['spec'];
      await admit(tools, call, noun, key.name, spec, object.spec);
      remarks = (await noun.remarks?.(tools, call.principal, object, spec)) ?? none;
      return edit;
    } finally {
      asked = { object, wanted };
    }
  };
  const writes = isDry ? tools.dryWrites : tools.writes;
  let remarks = none;
  let asked: { readonly object: Resources[K]; readonly wanted: Written } | undefined;
  try {
    const object = await unlessDeleted(
      () => notFound(noun, key),
      () => tools.turns.run(turnName(noun, call), () => writes.edit(noun.kind, key, plan)),
    );
    return { object, before: asked?.object ?? object, remarks };
  } catch (error) {
    if (!isDomainError(error, 'FIELD_OWNED') || asked === undefined) throw error;
    const { metadata, ...fields } = manifestFields(asked.object, asked.wanted, dashboardManager);
    const named = { ...key, ...(isObject(metadata) && metadata) };
    const manifest = renderYaml({ apiVersion, kind: noun.kind, metadata: named, ...fields });
    throw new DomainError(error.code, error.message, { ...error.details, manifest });
  }
}

/** Checks the object against others of the same owner, and throws. */
async function admit<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
  name: string,
  spec: Resources[K]['spec'],
  current?: Resources[K]['spec'],
): Promise<void> {
  const { namespace } = call.principal;
  const owner = 'paymasterRef' in spec ? spec.paymasterRef.name : undefined;
  if (
    owner !== undefined &&
    (await tools.resources.get('Paymaster', { namespace, name: owner })) === undefined
  )
    throw invalidInput({
      field: 'spec.paymasterRef.name',
      expected: 'a paymaster of the organisation',
      value: quote(owner),
    });
  const objects: Resources[K][] = [];
  let count = 0;
  const fields = owner === undefined ? {} : { fields: { 'spec.paymasterRef.name': owner } };
  for await (const other of eachObject(tools.resources, noun.kind, { namespace, ...fields })) {
    if (other.metadata.name === name) continue;
    const clash = noun.clash(spec, other.spec);
    if (clash !== undefined) throw alreadyExists(noun, other.metadata.name, `spec.${clash}`);
    count += 1;
    if (noun.kind !== 'SmartContract') objects.push(other);
  }
  if (current === undefined) requireQuota(tools, call.principal, noun.quota, count);
  await noun.check(tools, call, spec, { count, objects }, current);
}

function validate<K extends NounKind>(
  { kind }: Noun<K>,
  { namespace, name }: ObjectKey,
  { labels, spec }: Written,
  current?: Resources[K],
): readonly Problem[] {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  const problems = [...validateMetadata({ labels }), ...validateResource(kind, { metadata, spec }, current)];
  return problems.map(({ field, ...rest }) => ({ field: field.replace(/^metadata\./, ''), ...rest }));
}

/**
 * Judges what a caller gives of an object as if this spec were in a manifest. Problems name the fields without `before`; the members
 * `ours` are not the caller's to give. Throws INVALID_INPUT.
 */
export function requireAsInManifest(
  kind: 'DashboardToken' | 'Paymaster',
  spec: object,
  before: RegExp,
  given: object,
  ours: readonly string[],
): void {
  const problems = validateResource(kind, { metadata: { name: 'new', namespace: 'new' }, spec });
  const named = problems.map(({ field, ...rest }) => ({
    field: field.replace(before, '') || 'body',
    ...rest,
  }));
  const left = ours.filter((name) => Object.hasOwn(given, name));
  throwIfAny([...named, ...left.map((field) => ({ field, expected: 'left out' }))]);
}

/** What a body asks for; `before` are the labels where it names none. Throws INVALID_INPUT. */
export function composeNext(
  { labels, spec }: WrittenBody,
  before: Written['labels'],
  requirePresent: Written['labels'] = before,
): Written {
  const labelCount = isTextMap(labels) ? Object.keys(labels).length : 0;
  const problems = [
    ...(labelCount > Math.max(maxLabels, Object.keys(requirePresent).length)
      ? [{ field: 'labels', expected: `at most ${maxLabels} labels`, value: String(labelCount) }]
      : []),
    ...(isObject(spec) ? [] : [{ field: 'spec', expected: 'an object', value: quote(spec) }]),
    ...(labels === undefined || isTextMap(labels)
      ? []
      : [{ field: 'labels', expected: 'an object of texts', value: quote(labels) }]),
  ];
  throwIfAny(problems);
  return { labels: isTextMap(labels) ? labels : before, spec: spec as Tree };
}

export async function requirePresent<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
): Promise<Resources[K]> {
  const key = keyOfCall(noun, call);
  const object = await tools.resources.get(noun.kind, key);
  if (object === undefined) throw notFound(noun, key);
  return object;
}

/** What is served of a paymaster. Throws NOT_FOUND. */
export async function servedConfig(
  { configs }: Pick<Tools, 'configs'>,
  { principal }: Call,
  { metadata: { name } }: Resources['Paymaster'],
): Promise<PaymasterConfig> {
  const served = await configs.getPaymaster(derivePaymasterId(principal.tenant, name));
  if (served === undefined)
    throw new DomainError('NOT_FOUND', `The paymaster ${quote(name)} is not served yet`);
  return served.config;
}

/** Throws NOT_FOUND for a name that no object can have. */
export function keyOfCall(noun: Noun, { principal: { namespace }, params: { name = '' } }: Call): ObjectKey {
  const key = { namespace, name };
  if (validateName(noun.kind, key).length > 0) throw notFound(noun, key);
  return key;
}

export function requireKey(
  { kind }: { readonly kind: Kind },
  { principal: { namespace } }: Call,
  name: string,
): ObjectKey {
  throwIfAny(validateName(kind, { namespace, name }).map((problem) => ({ ...problem, field: 'name' })));
  return { namespace, name };
}

/** Throws PRECONDITION_FAILED where the object is not the one that the caller wants to change. */
export function requireMatch({ ifMatch, ifNoneMatch }: Call, object: Resources[NounKind]): void {
  const requirePresent = computeEtag(object);
  const names = (header: string): boolean =>
    header
      .split(',')
      .some((each) => ['*', requirePresent, `"${formatVersion(object)}"`].includes(each.trim()));
  if (ifNoneMatch !== undefined && names(ifNoneMatch))
    throw new DomainError(
      'PRECONDITION_FAILED',
      `The object is ${requirePresent} now, and If-None-Match excludes ${quote(ifNoneMatch)}`,
    );
  if (ifMatch === undefined || names(ifMatch)) return;
  throw new DomainError(
    'PRECONDITION_FAILED',
    `The object is ${requirePresent} now, and If-Match names ${quote(ifMatch)}`,
  );
}

/** Changes of the same owner's objects, one after the other: names and quotas are compared with what is there. */
function turnName({ kind }: Noun, { principal }: Call): string {
  return `${kind} of ${principal.namespace}`;
}

function alreadyExists({ one }: Noun, name: string, field = 'name'): DomainError {
  return new DomainError(
    'OBJECT_EXISTS',
    `The ${one} ${quote(name)} has this ${field.replace('spec.', '')} already`,
    {
      problems: [{ field, expected: `free, and the ${one} ${quote(name)} has it` }],
    },
  );
}

export function notFound({ one }: Noun, { name }: ObjectKey): DomainError {
  return new DomainError('NOT_FOUND', `The organisation has no ${one} ${quote(name)}`);
}
