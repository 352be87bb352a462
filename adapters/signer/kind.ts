import type { Signer } from '../../core/paymaster/signer.js';
import { compileSchema } from '../../core/schema/validate.js';
import type { SchemaOf, StructuralSchema } from '../../core/schema/structural.js';
import { invalidInput, type Problem } from '../../core/errors.js';
import type { Curve } from './curve.js';
import type { KeyFileAccess } from './file/key-file.js';
import type { SignerMeter } from './signer-instruments.js';

/** A signer of a file, with a lifetime. */
export type OpenSigner = Signer & {
  /**
   * Finds out whether it can sign, at the start and while it is in trouble. Absent for a key in this process. Never rejects, and
   * ends within seconds.
   */
  check?(): Promise<void>;
  /** Calls that run are given up. May be called twice. */
  stop?(): void;
};

export type RemoteLimits = {
  /** Time of a signature in all. It waits for at most half of it, so that no call is made that has no time left. */
  readonly deadlineMs: number;
  /** Calls at once. One paymaster makes at most a fifth of them, and as many of its calls again wait four times over. */
  readonly calls: number;
};

/** What a kind may use. `environment`: variables from which clouds' credentials are read. */
export type OpenDeps = {
  readonly curve: Curve;
  readonly environment: Environment;
  readonly access: KeyFileAccess;
  readonly limits?: RemoteLimits;
  /** File or variable of the signer, for messages. */
  readonly origin: string;
  /** For a kind whose key is elsewhere. */
  readonly meter: () => SignerMeter;
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file of the signer directory, and what it describes; `fields` without `kind`. */
export type SignerText = { readonly text: string; readonly fields: Readonly<Record<string, unknown>> };

/** A kind of signers: a folder, and a row of `kinds.ts`. */
export type SignerKind = {
  /** What such a file says, for the documents. */
  readonly title: string;
  /** Its fields beside `kind`; absent: the file holds no fields. */
  readonly schema?: StructuralSchema;
  /** Throws INVALID_INPUT, which names file and fields and quotes nothing that may be a key. Calls nobody. */
  open(signer: SignerText, deps: OpenDeps): OpenSigner;
};

/** A row whose file has fields. `problems`: what their schema cannot say. */
export function describedKind<Spec extends object>(row: {
  readonly title: string;
  readonly schema: SchemaOf<Spec>;
  readonly problems?: (spec: Spec) => readonly Problem[];
  readonly open: (spec: Spec, deps: OpenDeps) => OpenSigner;
}): SignerKind {
  const { title, schema } = row;
  const validate = compileSchema(schema, '');
  return {
    title,
    schema,
    open({ fields }, deps) {
      const shape = validate(fields);
      // The schema has just proven it.
      const spec = fields as Spec;
      const problems = shape.length > 0 ? shape : (row.problems?.(spec) ?? []);
      if (problems.length > 0)
        throw invalidInput(
          problems.map(({ field, ...problem }) => ({
            ...discreet(problem),
            field: `${deps.origin}: ${field}`,
          })),
        );
      return row.open(spec, deps);
    },
  };
}

/** A value that has the length of a key is not quoted: somebody may have pasted one into the wrong field. */
function discreet({ value, ...problem }: Omit<Problem, 'field'>): Omit<Problem, 'field'> {
  return value === undefined || /[0-9a-fA-F]{64}/.test(value) ? problem : { ...problem, value };
}
