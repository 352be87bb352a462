import { parseDocument } from 'yaml';
import { invalidInput, quote } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import type { SignerText } from './kind.js';
import { signerKinds, type SignerKindName } from './kinds.js';

/**
 * What a file of the signer directory says: YAML or JSON with `kind`, or the key itself. `origin` names the file in the error. A text
 * that is neither is taken for a damaged key: it is never quoted.
 */
export function readSignerText(text: string, origin: string): SignerText & { readonly kind: SignerKindName } {
  const value = parseFields(text);
  if (value === undefined) return { kind: 'file', text, fields: {} };
  const { kind, ...fields } = value;
  if (!isSignerKind(kind))
    throw invalidInput({
      field: `${origin}: kind`,
      expected: `one of ${Object.keys(signerKinds).join(', ')}`,
      ...(typeof kind === 'string' && kind.length < 32 ? { value: quote(kind) } : {}),
    });
  return { kind, text, fields };
}

/** Undefined when the text has no fields. Every value stays the text that was written: an address must not become a number. */
function parseFields(text: string): Readonly<Record<string, unknown>> | undefined {
  const document = parseDocument(text, { schema: 'failsafe', prettyErrors: false, logLevel: 'silent' });
  if (document.errors.length > 0) return undefined;
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  return isObject(value) ? value : undefined;
}

function isSignerKind(name: unknown): name is SignerKindName {
  return typeof name === 'string' && Object.hasOwn(signerKinds, name);
}
