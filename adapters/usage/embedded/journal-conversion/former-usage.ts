import type { AddressKey } from '../../../../core/units/address.js';
import type { JournalOp } from './journal.js';

/** A window of a limit; `used` by subject. */
export type FormerWindow = {
  readonly policyId: string;
  readonly startMs: number;
  readonly index: number;
  readonly unit: 'COUNT' | 'NATIVE_ASSET';
  durationMs: number;
  readonly used: Map<string, number>;
};

export type FormerReservation = {
  readonly chainId: number;
  readonly paymasterId: string;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  readonly contract: AddressKey;
  readonly isToken: boolean;
  readonly validUntil: number;
  readonly limits: readonly {
    readonly window: FormerWindow;
    readonly subject: string;
    readonly cost: number;
  }[];
  readonly accounts: readonly {
    readonly contract: AddressKey;
    readonly funding: AddressKey | undefined;
    readonly need: number;
  }[];
};

export type FormerBalance = {
  readonly chainId: number;
  readonly contract: AddressKey;
  readonly funding: AddressKey | undefined;
  readonly balance: number;
  readonly readAt: number;
};

/** The usage that a journal describes. Throws RangeError when the journal uses a number that it never defined. */
export class FormerUsage {
  readonly windows = new Map<number, FormerWindow>();
  readonly generations = new Map<string, number>();
  readonly reservations = new Map<string, FormerReservation>();
  readonly balances = new Map<string, FormerBalance>();
  readonly cursors = new Map<
    number,
    { readonly blockNumber: number; readonly blockHash: string; readonly timestamp: number }
  >();
  readonly epochs = new Map<number, string>();
  readonly messages = new Map<string, { readonly message: string; readonly expiresAt: number }>();
  forgottenUntil = 0;
  readonly #ids = new Map<number, string>();
  readonly #addresses = new Map<number, AddressKey>();

  apply({ letter, fields }: JournalOp): void {
    const number = (i: number): number => numberIn(fields, i);
    const text = (i: number): string => textIn(fields, i);
    switch (letter) {
      case 'n':
        return void this.#ids.set(number(0), text(1));
      case 'a':
        return void this.#addresses.set(number(0), text(1) as AddressKey);
      case 'w': {
        const known = this.windows.get(number(0));
        if (known !== undefined) known.durationMs = Math.max(known.durationMs, number(3));
        if (known !== undefined) return;
        const unit = number(5) === 0 ? 'COUNT' : 'NATIVE_ASSET';
        const terms = {
          policyId: text(1),
          startMs: number(2),
          durationMs: number(3),
          index: number(4),
          unit,
        } as const;
        return void this.windows.set(number(0), { ...terms, used: new Map() });
      }
      case 'g': {
        const id = this.#id(number(0));
        return void this.generations.set(id, Math.max(this.generations.get(id) ?? 0, number(1)));
      }
      case 'c':
        return void this.#window(number(0)).used.set(text(1), number(2));
      case 'b': {
        const [contract, funding] = [this.#address(number(1)), this.#optional(number(2))];
        const balance = { chainId: number(0), contract, funding, balance: number(3), readAt: number(4) };
        return void this.balances.set(`${number(0)}/${contract}/${funding ?? ''}`, balance);
      }
      case 'h':
        return void this.cursors.set(number(0), {
          blockNumber: number(1),
          blockHash: text(2),
          timestamp: number(3),
        });
      case 'e':
        return void this.epochs.set(number(0), `${text(1)}:${number(2)}`);
      case 'p':
        this.forgottenUntil = Math.max(this.forgottenUntil, number(0));
        return;
      case 'f':
        if (fields[1] === null) this.messages.delete(text(0));
        else this.messages.set(text(0), { message: text(1), expiresAt: number(2) });
        return;
      case 'd':
        return void this.reservations.delete(this.#keyOf(number(0), number(1), number(2), text(3), text(4)));
      case 'r': {
        const key = this.#keyOf(number(0), number(1), number(2), text(3), text(4));
        return void this.reservations.set(key, this.#reservation(fields));
      }
      default:
        throw new RangeError(`the usage journal has an unknown entry "${letter}"`);
    }
  }

  #reservation(fields: readonly unknown[]): FormerReservation {
    const [counters, accounts] = [listIn(fields, 9), listIn(fields, 10)];
    const sender = textIn(fields, 3) as AddressKey;
    const subject = (code: unknown): string => (code === 0 ? '' : code === 1 ? sender : String(code));
    return {
      chainId: numberIn(fields, 0),
      paymasterId: this.#id(numberIn(fields, 1)),
      entryPoint: this.#address(numberIn(fields, 2)),
      sender,
      nonce: BigInt(`0x${textIn(fields, 4)}`),
      contract: this.#address(numberIn(fields, 5)),
      isToken: numberIn(fields, 6) === 1,
      validUntil: numberIn(fields, 8),
      limits: triples(counters).map(([window, code, cost]) => ({
        window: this.#window(Number(window)),
        subject: subject(code),
        cost: Number(cost),
      })),
      accounts: triples(accounts).map(([contract, funding, need]) => ({
        contract: this.#address(Number(contract)),
        funding: this.#optional(Number(funding)),
        need: Number(need),
      })),
    };
  }

  #keyOf(chainId: number, paymaster: number, entryPoint: number, sender: string, nonce: string): string {
    return `${chainId}/${this.#id(paymaster)}/${this.#address(entryPoint)}/${sender}/${nonce}`;
  }

  #id(id: number): string {
    return this.#ids.get(id) ?? unknown('paymaster', id);
  }

  #window(id: number): FormerWindow {
    return this.windows.get(id) ?? unknown('window', id);
  }

  #address(id: number): AddressKey {
    return this.#addresses.get(id) ?? unknown('address', id);
  }

  #optional(id: number): AddressKey | undefined {
    return id === 0 ? undefined : this.#address(id);
  }
}

function triples(list: readonly unknown[]): readonly (readonly [unknown, unknown, unknown])[] {
  return Array.from({ length: list.length / 3 }, (_, i) => [list[3 * i], list[3 * i + 1], list[3 * i + 2]]);
}

function numberIn(fields: readonly unknown[], i: number): number {
  const value = fields[i];
  return typeof value === 'number' ? value : unknown('number', value);
}

function textIn(fields: readonly unknown[], i: number): string {
  const value = fields[i];
  return typeof value === 'string' ? value : unknown('text', value);
}

function listIn(fields: readonly unknown[], i: number): readonly unknown[] {
  const value = fields[i];
  return Array.isArray(value) ? value : unknown('list', value);
}

function unknown(what: string, value: unknown): never {
  throw new RangeError(`the usage journal names an unknown ${what} ${JSON.stringify(value)}`);
}
