import { inTime } from '../../adapters/within-deadline.js';
import { DomainError } from '../../core/errors.js';
import type { ChangeWrite } from '../../core/ledger/change.js';
import { changeOf, type Versions } from '../../core/resources/object-change.js';
import type { ObjectKey } from '../../core/meta/meta.js';
import type { AnyResource, Kind, Resources } from '../../core/resources/kinds.js';
import type { Principal } from './auth.js';
import type { Tools } from './deps.js';
import { idOf } from './ledger/object-names.js';
import { asEdit, type Edit, type Writes } from './writes.js';

/** An answer waits no longer for a record. One that comes too late is missing, and the log says so. */
const patienceMs = 2_000;
/** As reasons of Kubernetes are written. */
const reasons = { created: 'Created', changed: 'Changed', deleted: 'Deleted' } as const;

/**
 * The tools of one call, whose writes are recorded with its token and request. The write comes first and stands, whatever becomes of its
 * record: a stop must work while the database is away.
 */
export function recorded(
  tools: Tools,
  { tenant, tokenName }: Pick<Principal, 'tenant' | 'tokenName'>,
  requestId: string,
): Tools {
  const { changes, names, events, writes, clock, log } = tools;
  const author = { name: tokenName, requestId };

  async function record(versions: Versions): Promise<void> {
    const object = versions.after ?? versions.before;
    const write = changeOf(versions, { at: clock.now(), organisation: tenant, author });
    events?.record({ object, type: 'Normal', reason: reasons[write.action], note: noteOf(write) });
    const late = () => new DomainError('UNAVAILABLE', 'the database does not answer in time');
    const name = versions.after === undefined ? nameOf(tenant, object) : [];
    const kept = Promise.all([changes?.record(write), name.length > 0 && names?.keep(name)]);
    try {
      await inTime(patienceMs, kept, late);
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
    if (before?.metadata.generation !== after.metadata.generation) await record({ before, after });
    return after;
  };
  const recordedWrites: Writes = {
    async create(...what) {
      const after = await writes.create(...what);
      await record({ before: undefined, after });
      return after;
    },
    change: (kind, key, plan) => edit(kind, key, asEdit(plan)),
    edit,
    async remove(...what) {
      const before = await writes.remove(...what);
      await record({ before, after: undefined });
      return before;
    },
  };
  return { ...tools, writes: recordedWrites };
}

/** Values are left out: who may read events may not be meant to read them. */
function noteOf({ author, fields }: ChangeWrite): string {
  return `By token ${author.name}, request ${author.requestId}: ${fields.map(({ field }) => field).join(', ')}`;
}

function nameOf(organisation: string, { kind, metadata, spec }: AnyResource) {
  if (kind !== 'Paymaster' && kind !== 'PaymasterPolicy') return [];
  return [{ organisation, kind, id: idOf[kind](organisation, metadata.name), shown: spec.name }];
}
