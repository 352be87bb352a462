import { DomainError, quote } from '../../../core/errors.js';
import type { ObjectKey } from '../../../core/meta/meta.js';
import { given } from '../../../core/units/given.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { unlessDeleted } from '../lookups.js';
import { childrenOf, deleteChildren, isDeclared, type Child } from './children.js';
import { endsWith, mostNames } from './deletion.js';
import { nouns } from './nouns.js';
import { keyOfCall, requireMatch, unknown } from './object-changes.js';

const { paymasters } = nouns;

/**
 * Deletes a paymaster, and with `cascade` then what belongs to it. A call that was cut off in between may be repeated: it goes on with what
 * is left. Nothing is deleted with the paymaster that a manifest declares.
 */
export async function deletePaymaster(
  tools: Tools,
  call: Call,
  { dryRun = false, cascade = false }: { readonly dryRun?: boolean; readonly cascade?: boolean },
): Promise<Reply> {
  const { principal } = call;
  const key = keyOfCall(paymasters, call);
  const { name } = key;
  const paymaster = await tools.resources.get('Paymaster', key);
  const children = await childrenOf(tools, principal, name);
  const isLeft = cascade && children.some((each) => !isDeclared(each));
  if (paymaster === undefined && !isLeft) throw unknown(paymasters, key);
  if (paymaster !== undefined) requireMatch(call, paymaster);
  const ends = await endsWith(tools, call, paymaster, children);
  const answer = (stays: readonly Child[]) => ({
    data: { name, dryRun, cascade, ends, stays: stays.slice(0, mostNames) },
  });
  if (dryRun) return answer(children.filter(isDeclared));

  if (!cascade && children.length > 0) throw inUse(name, children);
  if (paymaster !== undefined) await removePaymaster(tools, call, key);
  const programmed = await tools.programmed.deleted(principal.tenant, {
    kind: 'Paymaster',
    metadata: { name },
  });
  // As long as it is served, it must not be served without its policies.
  if (!programmed && isLeft) throw notFollowed(name);
  const stays = cascade ? await deleteChildren(tools, principal, name, paymaster?.metadata.uid) : [];
  return { ...answer(stays), programmed, ...given({ object: paymaster }) };
}

async function removePaymaster(tools: Tools, call: Call, key: ObjectKey): Promise<void> {
  await unlessDeleted(
    () => unknown(paymasters, key),
    () => tools.writes.remove('Paymaster', key, (current) => requireMatch(call, current)),
  );
}

function inUse(name: string, children: readonly Child[]): DomainError {
  const problems = [...Map.groupBy(children, ({ kind }) => kind)].map(([kind, ofKind]) => ({
    field: kind === 'SmartContract' ? 'contracts' : 'policies',
    expected: 'deleted first, or with it by cascade=true',
    value: ofKind
      .slice(0, mostNames)
      .map((each) => each.name)
      .join(', '),
  }));
  const have = problems.map(({ field, value }) => `${field} ${value}`).join('; ');
  return new DomainError(
    'PAYMASTER_IN_USE',
    `To the paymaster ${quote(name)} belong ${have}: cascade=true deletes them with it`,
    { problems },
  );
}

function notFollowed(name: string): DomainError {
  const message = `The paymaster ${quote(name)} is deleted, and servers do not follow yet: repeat the call, which then deletes what belongs to it`;
  return new DomainError('DELETION_UNFINISHED', message);
}
