/** Where a program that we start listens: on this port and no other, on it or the first free one after it, or on any free one. */
export type PortChoice =
  | { readonly kind: 'exact'; readonly port: number }
  | { readonly kind: 'from'; readonly port: number }
  | { readonly kind: 'any' };

/** A program could not listen, because another one has the port. */
export class PortInUse extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PortInUse';
  }
}

/** Whether a program's output says that it could not listen, in the words of Go, Rust, PostgreSQL and Node. */
export function namesUsedPort(output: string): boolean {
  return /address already in use|EADDRINUSE/i.test(output);
}

/** How many ports of `from` are tried. */
const tries = 50;

/**
 * Starts a program on the chosen port; `start` throws PortInUse when it could not listen there (port 0: the system chooses one).
 * No port is probed beforehand: another program could take it in between. Throws PortInUse when no choice is left.
 */
export async function listenOn<T>(choice: PortChoice, start: (port: number) => Promise<T>): Promise<T> {
  let taken: PortInUse | undefined;
  for (const port of candidates(choice)) {
    try {
      return await start(port);
    } catch (error) {
      if (!(error instanceof PortInUse)) throw error;
      taken = error;
    }
  }
  throw taken;
}

function candidates(choice: PortChoice): readonly number[] {
  switch (choice.kind) {
    case 'exact':
      return [choice.port];
    case 'from':
      return Array.from({ length: tries }, (_, index) => choice.port + index).filter(
        (port) => port <= 65_535,
      );
    case 'any':
      return [0];
  }
}
