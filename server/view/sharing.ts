import type { PaymasterConfig } from '../../core/config/paymaster-config.js';

type Tokens = PaymasterConfig['tokens'];

/**
 * Shares equal values between many records: a namespace's name and its dashboard tokens are the same in each of its
 * paymasters, and many paymasters register the same contracts and methods. Forgetting a value costs memory, never
 * correctness, so the tables are simply emptied when they grow.
 */
export type Sharing = ReturnType<typeof createSharing>;

const maxShared = 10_000;

export function createSharing() {
  const texts = new Map<string, string>();
  const byNamespace = new Map<string, Tokens>();

  return {
    text<T extends string>(text: T): T {
      const known = texts.get(text);
      // Equal texts have the same type.
      if (known !== undefined) return known as T;
      if (texts.size >= maxShared) texts.clear();
      texts.set(text, text);
      return text;
    },
    /** One list of tokens per namespace, as long as it does not change. */
    tokens(namespace: string, tokens: Tokens): Tokens {
      const known = byNamespace.get(namespace);
      if (known !== undefined && isEqual(known, tokens)) return known;
      if (byNamespace.size >= maxShared) byNamespace.clear();
      byNamespace.set(namespace, tokens);
      return tokens;
    },
  };
}

function isEqual(left: Tokens, right: Tokens): boolean {
  return (
    left.length === right.length &&
    left.every(
      (token, index) => token.sha256 === right[index]?.sha256 && token.validUntil === right[index].validUntil,
    )
  );
}
