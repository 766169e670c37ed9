"""What threads know of one another beyond barriers: fences, releases, acquires (PTX ISA, memory consistency model).

A *clock* says up to which time the accesses of some threads lie behind. A strong write that a fence or `.release`
makes a release pattern leaves its thread's clock at its place; a strong read there takes it along, and a fence or
`.acquire` makes it the reader's own. Clocks are cumulative: who releases passes on what it has acquired, and what its
barriers ordered. Scopes bound who is told: what is released to a block stays in it.

More lenient than the model, because hardware is and much code relies on it: what one thread's fence covers, and what
one thread's strong reads have seen, is handed on by barriers to the others of its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ptxgen.executing.emulator.clocks import PLACES, Clock, Clocks, Earlier
from ptxgen.executing.emulator.races import SEVERAL_BLOCKS, Order, Tags
from ptxgen.executing.emulator.scopes import BLOCK, LEVELS, Role
from ptxgen.executing.emulator.values import Array, Bools

#: A place is a granule * 4 and the number of its space.
SPACES = {"global": 0, "shared": 1, "local": 2, "const": 3}
#: Lanes of one instruction of which each in its turn hears what those before it said.
_MOST_TURNS = 4096


@dataclass(slots=True)
class Causality:
    """Clocks by lane and by place. Lane arrays hold numbers of clocks; 0 is the empty one."""

    clocks: Clocks
    cluster: int                               # blocks of a cluster
    first_tag: int = 1
    known: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    seen: Array = field(default_factory=lambda: np.zeros((LEVELS, 0), np.int32))      # read, but not yet acquired
    passed: Array = field(default_factory=lambda: np.zeros((LEVELS, 0), np.int32))    # covered by others' fences
    fenced: Array = field(default_factory=lambda: np.zeros((LEVELS, 4, 0), np.int32)) # last fence: _covered
    #: By place: by scope and whom it reaches, the clock that a reader there hears of.
    places: dict[int, dict[tuple[int, int], int]] = field(default_factory=dict)
    earlier: dict[int, Earlier] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)         # by place: how often something was said there
    heard: Array = field(default_factory=lambda: np.zeros((2, 0), np.int64))           # last place and version heard
    sequential: dict[int, int] = field(default_factory=dict)       # by block: time of its last such fence
    arrived: dict[int, int] = field(default_factory=dict)          # by mbarrier or cluster: clock of who has come
    completed: dict[int, int] = field(default_factory=dict)        # of the phase that was over last
    marked: dict[str, Bools] = field(default_factory=dict)         # by space, then granule: is in `places`

    def begin(self, lanes: int, first_tag: int) -> None:
        """A new batch: nobody knows anything; shared memory is new, global memory keeps its clocks."""
        self.first_tag = first_tag
        self.known = np.zeros(lanes, np.int32)
        self.heard = np.full((2, lanes), -1, np.int64)
        self.seen, self.passed = np.zeros((LEVELS, lanes), np.int32), np.zeros((LEVELS, lanes), np.int32)
        self.fenced = np.zeros((LEVELS, 4, lanes), np.int32)
        self.earlier = {place: one for place, one in self.earlier.items() if place % 4 != SPACES["shared"]}
        self.arrived.clear()
        self.completed.clear()
        self.marked.pop("shared", None)
        self.places = {place: told for place, told in self.places.items() if place % 4 != SPACES["shared"]}

    # ------------------------------------------------------------ what threads do

    def fence(self, order: Order, lanes: Array, role: Role, now: int) -> None:
        """A fence by these lanes."""
        self._fold(order, lanes)
        if role.sequential:
            blocks = np.unique((self.first_tag - 1 + lanes) // self.clocks.shape.threads)
            self.sequential.update((block, now) for block in blocks.tolist())
        for reach in range(role.level + 1):
            if role.acquires and self.seen[reach].any():
                self._learn(order, lanes, self.seen[reach, lanes])
        for reach in range(role.level + 1):
            if role.releases:
                self.fenced[reach][:, lanes] = (
                    np.full(lanes.size, now), self.known[lanes], order.warp_sync[lanes], order.block_sync[lanes]
                )

    def touch(
        self, order: Order, space: str, size: int, granules: Array, lanes: Array, role: Role, now: int,
        wrote: Bools | None, old: Array | None,
    ) -> list[tuple[int, int]]:
        """A strong access by each lane, one after the other. `size`: granules of the space; `wrote`: which lanes
        changed the place, None for none of them; `old`: what was there before. Gives the lanes, by number, that
        still read what was there before a change, and that value."""
        marked = self.marked.get(space)
        telling = np.zeros(lanes.size, np.bool_)
        if wrote is not None:
            covered = (self.fenced[0, 0, lanes] > 0) | (self.passed[0, lanes] > 0)
            telling = wrote & (role.releases | covered)
        heard = np.zeros(lanes.size, np.bool_) if marked is None else marked[granules]
        if not heard.any() and not telling.any():
            return []
        self._compact()
        if marked is None:
            marked = self.marked[space] = np.zeros(size, np.bool_)
        marked[granules[telling]] = True
        if role.releases:
            self._fold(order, lanes)
        places = granules.astype(np.int64) * 4 + SPACES[space]
        if old is not None and telling.any():
            self._keep_earlier(places, lanes, telling, now, old)
        busy = np.flatnonzero(telling | (marked[granules] & ~self._has_heard(places, lanes, role)))
        late: list[tuple[int, int]] = []
        turns = 2 if busy.size > _MOST_TURNS else 1
        for turn in range(turns):
            # Too many to take turns: all speak first, then all listen, which misses races and makes up none.
            speaks, listens = turn == 0, turn == turns - 1
            for number in busy.tolist():
                lane, place = int(lanes[number]), int(places[number])
                told = self.places.setdefault(place, {})
                earlier = self._still_sees(lane, place, old, now) if not role.writes else None
                if earlier is not None:
                    late.append((number, earlier.value))
                    self._hear(order, lane, earlier.told, role)
                elif role.reads and listens and told:
                    self._hear(order, lane, told, role)
                    self.heard[:, lane] = place, self._version(place, role)
                if speaks and wrote is not None and wrote[number]:
                    self.versions[place] = self.versions.get(place, 0) + 1
                    if role.overwrites:
                        told.clear()
                    if told or telling[number]:
                        self._say(order, lane, place, told, role, now)
        for number in busy.tolist():
            earlier = self.earlier.get(int(places[number]))
            if earlier is not None and role.reads:
                earlier.looked.add(self._block(int(lanes[number])))
        return late

    def _version(self, place: int, role: Role) -> int:
        return self.versions.get(place, 0) * 2 * LEVELS + 2 * role.level + role.acquires

    def _has_heard(self, places: Array, lanes: Array, role: Role) -> Bools:
        """Which lanes heard the same at the same place when they last heard something: those that go round."""
        if role.overwrites:
            return np.zeros(lanes.size, np.bool_)
        same = self.heard[0, lanes] == places
        for place in np.unique(places[same]).tolist():
            here = same & (places == place)
            same[here] = self.heard[1, lanes[here]] == self._version(place, role)
        return np.asarray(same)

    def _keep_earlier(self, places: Array, lanes: Array, telling: Bools, now: int, old: Array) -> None:
        for number in np.flatnonzero(telling)[np.unique(places[telling], return_index=True)[1]].tolist():
            place = int(places[number])
            here = lanes[places == place]
            looked, told = {self._block(int(lane)) for lane in here}, dict(self.places.get(place, {}))
            tags = self.first_tag + here.astype(np.int64)
            self.earlier[place] = Earlier(int(old[number]), old.itemsize, told, now, tags, looked)

    def _still_sees(self, lane: int, place: int, old: Array | None, now: int) -> Earlier | None:
        """What a load may still give, though the place has changed: the first look of another block comes too early
        for a change that does not lie behind it."""
        earlier = self.earlier.get(place)
        if earlier is None or old is None or old.itemsize != earlier.width or self._block(lane) in earlier.looked:
            return None
        # What changed before a sequential fence cannot be missed after it.
        if not self.sequential.get(self._block(lane), 0) < earlier.time < now:
            return None
        known, times = int(self.known[lane]), np.full_like(earlier.tags, earlier.time - 1)
        told = self.clocks.made[known].get(PLACES - place, 0) > earlier.time
        behind = told or self.knows(np.full_like(earlier.tags, lane), earlier.tags, times).any()
        return None if behind else earlier

    def _block(self, lane: int) -> int:
        return (self.first_tag - 1 + lane) // self.clocks.shape.threads

    def arrive(self, order: Order, keys: Array, lanes: Array, now: int, *, releases: bool) -> None:
        """Lanes arrive where others wait for all to come: what they know is kept there. Scopes are not looked at."""
        self._compact()
        self._fold(order, lanes)
        for key in np.unique(keys).tolist():
            mine = lanes[keys == key]
            told = self._together(order, mine, now) if releases else self.clocks.join_all(
                self._covered(lane, BLOCK) for lane in mine.tolist()
            )
            self.arrived[key] = self.clocks.join(self.arrived.get(key, 0), told)

    def report(self, keys: Array, lanes: Array, now: int) -> None:
        """What was done in these lanes' names is complete, and those who wait are told so."""
        for key in np.unique(keys).tolist():
            told = self.clocks.new({self.first_tag + int(lane): now for lane in lanes[keys == key]})
            self.arrived[key] = self.clocks.join(self.arrived.get(key, 0), told)

    def complete(self, keys: Iterable[int]) -> None:
        """All have come."""
        self.completed.update((key, self.arrived.pop(key, 0)) for key in keys)

    def attend(self, order: Order, keys: Array, lanes: Array, *, acquires: bool = True) -> None:
        """These lanes have waited until all had come."""
        for key in np.unique(keys).tolist():
            mine, number = lanes[keys == key], self.completed.get(key, 0)
            if acquires and number:
                self._learn(order, mine, np.full(mine.size, number, np.int32))
            elif number:
                self.seen[BLOCK, mine] = [self.clocks.join(int(old), number) for old in self.seen[BLOCK, mine]]

    def meet(self, order: Order, came: Array, waiting: Array, block_of: Array) -> None:
        """A barrier in each block, of which `order` knows nothing yet: what lanes that came know, have seen or have
        covered, those that wait know too."""
        for array in (self.known, *self.seen, *self.passed):
            if array[came].any():
                self._share(array, came, waiting, block_of)
        for reach in range(LEVELS):
            # Older fences were passed on by the last barrier.
            new = self.fenced[reach, 0, came] >= np.maximum(order.block_sync[came], 1)
            if new.any():
                self._pass_on(reach, came[new], waiting, block_of)

    # ------------------------------------------------------------ what lies behind

    def knows(self, lanes: Array, tags: Tags, times: Array) -> Bools:
        """Whether accesses at these times by these tags lie behind each lane, by what it was told."""
        ids = self.known[lanes].astype(np.int64)
        result = np.zeros(lanes.size, np.bool_)
        some = np.flatnonzero(ids)
        if not some.size:
            return result
        block = np.asarray(self.clocks.shape.block(tags[some]), np.int64)
        units = np.where(block < 0, SEVERAL_BLOCKS, -2 - 2 * block)
        result[some] = self.clocks.until(ids[some], units) > times[some]
        left = some[~result[some]]
        if left.size:
            result[left] = self.clocks.until_tag(ids[left], np.asarray(tags[left], np.int64)) > times[left]
        return result

    def saw(self, lanes: Array, places: Array, times: Array) -> Bools:
        """Whether strong accesses at these times to these places lie behind each lane: it was told of later ones."""
        return np.asarray(self.clocks.until(self.known[lanes].astype(np.int64), PLACES - places) > times)

    def _compact(self) -> None:
        """Forget clocks that nobody holds any more."""
        if not self.clocks.many:
            return
        arrays = [self.known, self.seen, self.passed, self.fenced[:, 1]]
        tellers = [*self.places.values(), *(earlier.told for earlier in self.earlier.values())]
        held = {number for told in tellers for number in told.values()}
        held.update(*(np.unique(array).tolist() for array in arrays), self.arrived.values(), self.completed.values())
        renumber = self.clocks.keep(held)
        for array in arrays:
            array[...] = renumber[array]
        for told in tellers:
            told.update({reach: int(renumber[number]) for reach, number in told.items()})
        for met in (self.arrived, self.completed):
            met.update({key: int(renumber[number]) for key, number in met.items()})

    # ------------------------------------------------------------ saying and hearing

    def _audience(self, reach: int, lane: int) -> tuple[int, int]:
        block = self._block(lane)
        return reach, (block, block // self.cluster, 0)[reach]

    def _hear(self, order: Order, lane: int, told: dict[tuple[int, int], int], role: Role) -> None:
        for reach in range(role.level + 1):
            number = told.get(self._audience(reach, lane), 0)
            if not number:
                continue
            if role.acquires:
                self._learn(order, np.array([lane]), np.array([number], np.int32))
            else:
                self.seen[reach, lane] = self.clocks.join(int(self.seen[reach, lane]), number)

    def _say(
        self, order: Order, lane: int, place: int, told: dict[tuple[int, int], int], role: Role, now: int
    ) -> None:
        released = self._alone(order, lane, now) if role.releases else 0
        # Whoever sees this access has seen those to the same place before it.
        here = self.clocks.new({PLACES - place: now + 1})
        for reach in range(role.level + 1):
            mine = self.clocks.join(self._covered(lane, reach), released)
            audience = self._audience(reach, lane)
            before = told.get(audience, 0)
            if before or mine:
                told[audience] = self.clocks.join(self.clocks.join(before, mine), here)

    def _covered(self, lane: int, reach: int) -> int:
        """What the lane's last fence covers, and those that barriers have told it of."""
        time, known, warp_sync, block_sync = (int(number) for number in self.fenced[reach, :, lane])
        covered = int(self.passed[reach, lane])
        if not time:
            return covered
        tag = self.first_tag + lane
        warp = self.clocks.warp(tag)
        own = {tag: time, -3 - 2 * warp: warp_sync, -2 - 2 * (warp // self.clocks.shape.warps): block_sync}
        return self.clocks.join(covered, self.clocks.join(known, self.clocks.new(own)))

    def _alone(self, order: Order, lane: int, now: int) -> int:
        """What one lane knows and has done before `now`."""
        tag = self.first_tag + lane
        warp = self.clocks.warp(tag)
        own = {
            tag: now, -3 - 2 * warp: int(order.warp_sync[lane]),
            -2 - 2 * (warp // self.clocks.shape.warps): int(order.block_sync[lane]),
        }
        return self.clocks.join(int(self.known[lane]), self.clocks.new(own))

    def _together(self, order: Order, lanes: Array, now: int) -> int:
        """What these lanes and all that they know have done before `now`."""
        known = self.clocks.join_all(np.unique(self.known[lanes]).tolist())
        own: Clock = {}
        shape = self.clocks.shape
        thread = self.first_tag - 1 + lanes
        blocks, block_at, in_block = np.unique(thread // shape.threads, return_inverse=True, return_counts=True)
        warps, warp_at, in_warp = np.unique(
            thread // shape.threads * shape.warps + thread % shape.threads // 32, return_inverse=True,
            return_counts=True,
        )
        sync = np.zeros(blocks.size, np.int64)
        np.maximum.at(sync, block_at, order.block_sync[lanes])
        warp_sync = np.zeros(warps.size, np.int64)
        np.maximum.at(warp_sync, warp_at, order.warp_sync[lanes])
        members = np.minimum(32, shape.threads - warps % shape.warps * 32)
        for block, count, time in zip(blocks.tolist(), in_block.tolist(), sync.tolist(), strict=True):
            own[-2 - 2 * block] = now if count == shape.threads else time
        for warp, count, time in zip(warps.tolist(), (in_warp == members).tolist(), warp_sync.tolist(), strict=True):
            own[-3 - 2 * warp] = now if count else time
        for tag in (thread[in_warp[warp_at] != members[warp_at]] + 1).tolist():
            own[tag] = now
        return self.clocks.join(known, self.clocks.new(own))

    def _learn(self, order: Order, lanes: Array, numbers: Array) -> None:
        """Add a clock to what each lane knows; what it says of the lane's own block counts as a barrier."""
        pairs, back = np.unique(self.known[lanes].astype(np.int64) << 32 | numbers, return_inverse=True)
        joined = [self.clocks.join(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
        self.known[lanes] = np.array(joined, np.int32)[back]
        blocks = (self.first_tag - 1 + lanes) // self.clocks.shape.threads
        until = self.clocks.until(numbers.astype(np.int64), -2 - 2 * blocks.astype(np.int64))
        if (until > order.block_sync[lanes]).any():
            order.block_sync = order.block_sync.copy()
            order.block_sync[lanes] = np.maximum(order.block_sync[lanes], until)

    def _fold(self, order: Order, lanes: Array) -> None:
        """What barriers of a part of a block or warp have told these lanes becomes part of their clocks."""
        if order.heard is not None:
            self._fold_rows(order, lanes, order.heard[lanes], threads=False)
        if order.heard_in_warp is not None:
            thread = self.first_tag - 1 + lanes
            block = thread // self.clocks.shape.threads
            warp = block * self.clocks.shape.warps + thread % self.clocks.shape.threads // 32
            first = (self.first_tag - 1) // self.clocks.shape.threads * self.clocks.shape.warps
            rows = order.heard_in_warp[warp - first, thread % self.clocks.shape.threads % 32]
            self._fold_rows(order, lanes, rows, threads=True)

    def _fold_rows(self, order: Order, lanes: Array, rows: Array, *, threads: bool) -> None:
        for number in np.flatnonzero(rows.any(axis=1)).tolist():
            tag = self.first_tag + int(lanes[number])
            warp = self.clocks.warp(tag)
            if threads:
                first = tag - (tag - 1) % self.clocks.shape.threads % 32
                clock = {first + place: int(time) for place, time in enumerate(rows[number]) if time}
            else:
                first = warp // self.clocks.shape.warps * self.clocks.shape.warps
                clock = {-3 - 2 * (first + place): int(time) for place, time in enumerate(rows[number]) if time}
            self._learn(order, lanes[number : number + 1], np.array([self.clocks.new(clock)], np.int32))

    # ------------------------------------------------------------ barriers

    def _groups(self, lanes: Array, block_of: Array) -> Sequence[tuple[int, Array]]:
        blocks = block_of[lanes]
        order = np.argsort(blocks, kind="stable")
        found, starts = np.unique(blocks[order], return_index=True)
        return list(zip(found.tolist(), np.split(lanes[order], starts[1:]), strict=True))

    def _share(self, array: Array, came: Array, waiting: Array, block_of: Array) -> None:
        to = dict(self._groups(waiting, block_of))
        for block, lanes in self._groups(came, block_of):
            numbers = np.unique(array[lanes])
            if block not in to or (numbers.size == 1 and np.array_equal(lanes, to[block])):
                continue
            told = self.clocks.join_all(numbers.tolist())
            mine = to[block]
            array[mine] = [self.clocks.join(int(number), told) for number in array[mine]]

    def _pass_on(self, reach: int, came: Array, waiting: Array, block_of: Array) -> None:
        to = dict(self._groups(waiting, block_of))
        for block, lanes in self._groups(came, block_of):
            if block not in to:
                continue
            if lanes.size == self.clocks.shape.threads:
                number = (self.first_tag - 1 + int(lanes[0])) // self.clocks.shape.threads
                own = self.clocks.new({-2 - 2 * number: int(self.fenced[reach, 0, lanes].min())})
                told = self.clocks.join(self.clocks.join_all(np.unique(self.fenced[reach, 1, lanes]).tolist()), own)
            else:
                told = 0
            # Of fences at different times each covers what its own thread did.
            if lanes.size < self.clocks.shape.threads or np.unique(self.fenced[reach, 0, lanes]).size > 1:
                each = self.clocks.join_all(self._covered(lane, reach) for lane in lanes.tolist())
                told = self.clocks.join(told, each)
            mine = to[block]
            self.passed[reach, mine] = [self.clocks.join(int(number), told) for number in self.passed[reach, mine]]
