/** Places of one write of a chain. A store decides fewer requests together. */
const placesPerWrite = 4_096;

/**
 * Orders everything that a store has decided for a chain, so that repeating it in this order gives the same results: the
 * write's number in the sequence of the chain, and the place in that write; places beyond the last one are equal. A
 * decision that was made between two writes comes at the last place of the earlier one.
 */
export function toOrder(sequence: number, place = placesPerWrite): number {
  return sequence * placesPerWrite + Math.min(place, placesPerWrite - 1);
}
