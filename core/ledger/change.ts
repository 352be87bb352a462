import type { EpochMs } from '../units/time.js';
import type { RecordId } from './record.js';

/**
 * Port: who changed which object. It keeps the last known fields of every object, so a change is what differs from them, no matter which process sees
 * it first, and each generation counts once.
 *
 * Guarantees (both stores pass one suite):
 * - A write that is reported by REST and seen by the operator is one record, with the token of REST.
 * - A change that nobody reported in time, also one made while nothing ran, is recorded when the object is seen again.
 * - An organisation has a bounded number of records a day; those beyond are counted in its last one.
 * - Every method throws DomainError UNAVAILABLE when the database cannot answer.
 */
export type ChangeLog = {
  record(write: ChangeWrite): Promise<void>;
  list(query: ChangeQuery): Promise<ChangePage>;
  /** The names of objects of a kind that were deleted, the latest 1,000; `shown`: their `spec.name`. */
  deleted(query: DeletedQuery): Promise<readonly Deleted[]>;
  /** What is known of every object that was there when it was last seen. */
  known(): Promise<readonly ObjectVersion[]>;
};

/** Cluster-scoped objects have the empty namespace. */
export type ObjectVersion = {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
} & Version;
type Version = { readonly uid: string; readonly generation: number };

export type ChangeWrite = {
  readonly at: EpochMs;
  /** The tenant; empty for the platform's objects. */
  readonly organisation: string;
  readonly object: ObjectVersion;
  /** Undefined: the object is gone. */
  readonly fields: Fields | undefined;
  readonly author: Author;
};

/** `manager`: a field manager of Kubernetes or of the manifests; without a name nobody knows who it was. */
export type Author =
  | { readonly source: 'token'; readonly name: string; readonly requestId: string }
  | { readonly source: 'manager'; readonly name: string | undefined };

/**
 * By path, such as `spec.funding.address`. `shown` is the value as JSON, without secrets and cut at {@link mostShown} characters; `mark`
 * tells such a value from another that looks alike. `manager` owns the field.
 */
export type Fields = Readonly<Record<string, Shown>>;
export type Shown = { readonly shown: string; readonly mark?: string; readonly manager?: string };

/** One write of one object. */
export type Change = {
  readonly id: RecordId;
  readonly at: EpochMs;
  readonly action: 'created' | 'changed' | 'deleted';
  readonly object: ObjectVersion;
  readonly author: Author;
  readonly fields: readonly FieldChange[];
  /** Writes of the organisation after this one, on its day, that were too many to be recorded. */
  readonly leftOut: number;
};

/** Null: the field was or is not there. */
type FieldChange = {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
};

export type ChangeQuery = {
  readonly organisation: string;
  readonly kind?: string;
  readonly name?: string;
  /** Name of a token or manager. */
  readonly author?: string;
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly before?: RecordId;
  readonly limit: number;
};
export type DeletedQuery = { readonly organisation: string; readonly kind: string };
export type Deleted = { readonly name: string; readonly shown: string | undefined };
/** The newest first. `next`: the value of `before` for the next page. */
export type ChangePage = { readonly changes: readonly Change[]; readonly next: RecordId | undefined };

export const mostShown = 256;
/** Characters of all values of a change; fields beyond are named in one that says how many there are. */
const mostOfChange = 4_096;

/** What a write changes; the whole object when it is new or gone. */
export function changedFields(before: Fields | undefined, after: Fields | undefined): readonly FieldChange[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changed = [...names].filter((name) => {
    const [old, now] = [before?.[name], after?.[name]];
    return old?.shown !== now?.shown || old?.mark !== now?.mark;
  });
  const fields: FieldChange[] = [];
  let room = mostOfChange;
  for (const field of changed) {
    const [old = null, now = null] = [before?.[field]?.shown, after?.[field]?.shown];
    room -= field.length + (old?.length ?? 0) + (now?.length ?? 0);
    if (room < 0) {
      fields.push({ field: `(${changed.length - fields.length} more)`, before: null, after: null });
      break;
    }
    fields.push({ field, before: old, after: now });
  }
  return fields;
}

/** The managers of the changed fields; of one that was removed nobody is, so the latest of the object. */
export function authorOf(author: Author, changed: readonly FieldChange[], after: Fields | undefined): Author {
  if (author.source === 'token') return author;
  const names = changed.map(({ field }) => after?.[field]?.manager ?? author.name);
  const known = [...new Set(names.filter((name) => name !== undefined))].toSorted();
  return { source: 'manager', name: known.length === 0 ? undefined : known.join(', ').slice(0, mostShown) };
}
