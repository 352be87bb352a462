import type { EpochMs } from '../units/time.js';
import type { RecordId } from './record.js';

/**
 * Port: which token changed which object by REST.
 *
 * Guarantees (both stores pass one suite):
 * - A write is one record.
 * - An organisation has a bounded number of records a day; those beyond are counted in its last one.
 * - Every method throws DomainError UNAVAILABLE when the database cannot answer.
 */
export type ChangeLog = {
  record(write: ChangeWrite): Promise<void>;
  list(query: ChangeQuery): Promise<ChangePage>;
};

/** `generation`: after the write. */
type ObjectVersion = {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
};

/** A token of REST, by its name. */
export type Author = { readonly name: string; readonly requestId: string };

export type ChangeWrite = {
  readonly at: EpochMs;
  /** The tenant. */
  readonly organisation: string;
  readonly action: 'created' | 'changed' | 'deleted';
  readonly object: ObjectVersion;
  readonly author: Author;
  /** None: nothing is recorded. */
  readonly fields: readonly FieldChange[];
};

/**
 * By path, such as `spec.funding.address`. `shown` is the value as JSON, without secrets and cut at {@link maxShownLength} characters; `mark`
 * tells such a value from another that looks alike.
 */
export type Fields = Readonly<Record<string, Shown>>;
export type Shown = { readonly shown: string; readonly mark?: string };

export type Change = ChangeWrite & {
  readonly id: RecordId;
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
  /** Name of a token. */
  readonly author?: string;
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly before?: RecordId;
  readonly limit: number;
};
/** The newest first. `next`: the value of `before` for the next page. */
export type ChangePage = { readonly changes: readonly Change[]; readonly next: RecordId | undefined };

export const maxShownLength = 256;
/** Characters of all values of a change; fields beyond are named in one that says how many there are. */
const maxChangeLength = 4_096;

/** What a write changes; the whole object when it is new or gone. */
export function changedFields(before: Fields | undefined, after: Fields | undefined): readonly FieldChange[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changed = [...names].filter((name) => {
    const [old, now] = [before?.[name], after?.[name]];
    return old?.shown !== now?.shown || old?.mark !== now?.mark;
  });
  const fields: FieldChange[] = [];
  let room = maxChangeLength;
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
