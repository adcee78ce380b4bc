/** Room that several namespaces need: no tenant can take that of another. Pure. */

/** Each list has an equal share of the room, and what one leaves is the others'. */
export const sharedAmong = <T>(lists: readonly (readonly T[])[], room: number): T[] => {
  const rising = lists.toSorted((one, other) => one.length - other.length);
  let left = room;
  return rising.flatMap((list, at) => {
    const taken = list.slice(0, Math.floor(left / (rising.length - at)));
    left -= taken.length;
    return taken;
  });
};
