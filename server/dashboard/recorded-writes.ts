import { inTime } from '../../adapters/within-deadline.js';
import { DomainError } from '../../core/errors.js';
import type { Author } from '../../core/ledger/change.js';
import { writeOf } from '../../core/resources/object-change.js';
import type { ObjectKey } from '../../core/meta/meta.js';
import type { AnyResource, Kind, Resources } from '../../core/resources/kinds.js';
import type { Principal } from './auth.js';
import type { Tools } from './deps.js';
import { asEdit, type Edit, type Writes } from './writes.js';

/** An answer waits no longer for a record; the operator records later what is missing, without the name of the token. */
const patienceMs = 2_000;

/**
 * The tools of one call, whose writes are recorded with its token and request. The write comes first and stands, whatever becomes of its
 * record: a stop must work while the database is away.
 */
export function recorded(
  tools: Tools,
  { tenant, tokenName }: Pick<Principal, 'tenant' | 'tokenName'>,
  requestId: string,
): Tools {
  const { changes, writes, clock, log } = tools;
  if (changes === undefined) return tools;
  const token: Author = { source: 'token', name: tokenName, requestId };

  async function record(object: AnyResource, author: Author | undefined, isGone = false): Promise<void> {
    const write = writeOf(object, { at: clock.now(), organisation: tenant, author, isGone });
    const late = () => new DomainError('UNAVAILABLE', 'the database does not answer in time');
    try {
      await inTime(patienceMs, changes!.record(write), late);
    } catch (error) {
      log.warn('change not recorded', { requestId, kind: object.kind, object: object.metadata.name, error });
    }
  }

  const edit = async <K extends Kind>(kind: K, key: ObjectKey, plan: Edit<K>): Promise<Resources[K]> => {
    let before: Resources[K] | undefined;
    const after = await writes.edit<K>(kind, key, (current, owned) => {
      before = current;
      return plan(current, owned);
    });
    // A caller who asks for a state that exists already must not become its author.
    if (before === undefined || before.metadata.generation === after.metadata.generation) return after;
    await record(before, undefined);
    await record(after, token);
    return after;
  };
  const recordedWrites: Writes = {
    async create(...what) {
      const made = await writes.create(...what);
      await record(made, token);
      return made;
    },
    change: (kind, key, plan) => edit(kind, key, asEdit(plan)),
    edit,
    async remove(...what) {
      const removed = await writes.remove(...what);
      await record(removed, token, true);
      return removed;
    },
  };
  return { ...tools, writes: recordedWrites };
}
