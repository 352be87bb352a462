/**
 * A type of the ABI, with the names that a contract's ABI gives to the members of its tuples (`''` if it gives none).
 * `words`: 32-byte words that it takes where it stands; a dynamic one takes one, its offset.
 */
export type AbiType =
  | {
      readonly kind: 'integer';
      readonly bits: number;
      readonly signed: boolean;
      readonly words: 1;
      readonly dynamic: false;
    }
  | { readonly kind: 'address' | 'bool'; readonly words: 1; readonly dynamic: false }
  | { readonly kind: 'fixedBytes'; readonly size: number; readonly words: 1; readonly dynamic: false }
  | { readonly kind: 'bytes' | 'string'; readonly words: 1; readonly dynamic: true }
  | {
      readonly kind: 'array';
      readonly of: AbiType;
      /** Absent: as many as the data say. */
      readonly length?: number;
      readonly words: number;
      readonly dynamic: boolean;
    }
  | AbiTuple;

export type AbiTuple = {
  readonly kind: 'tuple';
  readonly fields: readonly AbiField[];
  readonly words: number;
  readonly dynamic: boolean;
};

/** `offset`: words of the members before it. */
export type AbiField = { readonly name: string; readonly type: AbiType; readonly offset: number };

export type Method = {
  /** Canonical, such as `transfer(address,uint256)`. */
  readonly signature: string;
  readonly args: AbiTuple;
};

/**
 * Reads a function as the ABI reader of contracts writes it: canonical types, each with its name if it has one, such as
 * `swap((address to,uint256)[2] orders,bytes)`. Throws SyntaxError on anything else.
 */
export function parseMethod(text: string): Method {
  const start = text.indexOf('(');
  const reader = new TypeReader(text, start);
  const args = reader.tuple();
  if (start < 1 || reader.at !== text.length) throw malformed(text);
  return { signature: text.slice(0, start) + canonical(args), args };
}

/** The type as signatures write it. */
export function canonical(type: AbiType): string {
  switch (type.kind) {
    case 'integer':
      return `${type.signed ? 'int' : 'uint'}${type.bits}`;
    case 'fixedBytes':
      return `bytes${type.size}`;
    case 'array':
      return `${canonical(type.of)}[${type.length ?? ''}]`;
    case 'tuple':
      return `(${type.fields.map((field) => canonical(field.type)).join(',')})`;
    default:
      return type.kind;
  }
}

class TypeReader {
  private readonly text: string;
  at: number;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  tuple(): AbiTuple {
    this.expect('(');
    const fields: AbiField[] = [];
    let words = 0;
    if (this.text[this.at] !== ')')
      do {
        const type = this.type();
        const name = this.take(namePattern).slice(1);
        fields.push({ name, type, offset: words });
        words += type.words;
      } while (this.take(commaPattern) !== '');
    this.expect(')');
    const dynamic = fields.some(({ type }) => type.dynamic);
    return { kind: 'tuple', fields, words: dynamic ? 1 : words, dynamic };
  }

  private type(): AbiType {
    let type: AbiType = this.text[this.at] === '(' ? this.tuple() : this.word();
    for (;;) {
      const brackets = this.take(bracketsPattern);
      if (brackets === '') return type;
      type = arrayOf(type, brackets.slice(1, -1));
    }
  }

  private word(): AbiType {
    const word = this.take(wordPattern);
    const size = Number(word.replace(/^[a-z]+/, ''));
    const single = { words: 1, dynamic: false } as const;
    if (word === 'address' || word === 'bool') return { kind: word, ...single };
    if (word === 'bytes' || word === 'string') return { kind: word, words: 1, dynamic: true };
    if (word.startsWith('bytes')) return { kind: 'fixedBytes', size, ...single };
    if (word !== '') return { kind: 'integer', bits: size, signed: word.startsWith('int'), ...single };
    throw malformed(this.text);
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw malformed(this.text);
    this.at += 1;
  }
}

function arrayOf(of: AbiType, digits: string): AbiType {
  if (digits === '') return { kind: 'array', of, words: 1, dynamic: true };
  const length = Number(digits);
  return { kind: 'array', of, length, words: of.dynamic ? 1 : length * of.words, dynamic: of.dynamic };
}

const wordPattern = /address|bool|string|bytes[0-9]{0,2}|u?int[0-9]{1,3}/y;
const namePattern = / [A-Za-z_$][A-Za-z0-9_$]*/y;
const commaPattern = /,/y;
const bracketsPattern = /\[[0-9]{0,9}\]/y;

function malformed(text: string): SyntaxError {
  return new SyntaxError(`expected a function with its parameters, got "${text.slice(0, 100)}"`);
}
