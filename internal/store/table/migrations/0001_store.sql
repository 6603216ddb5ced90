-- All times are milliseconds since 1970, UTC. Empty text means "not given".

-- One row: whose store this is, so that two workspaces never share one by mistake.
create table fleet (
  one       integer primary key check (one = 1),
  name      text not null,
  workspace text not null,
  fires     integer not null default 0,        -- the number of the last fire
  moved     text not null default '',          -- the store to which all of it was copied; empty: it is in use
  boot      text not null default '',          -- the machine's start since which the store's clock goes; empty: it is the machine's
  booted_at integer not null default 0,        -- when that was, by the store's clock
  away_since  integer,                         -- nobody reviews for a while; null: somebody does
  away_until  integer,                         -- null: until the reviewer is back
  away_reason text not null default '',
  -- What a store that several machines share knows of its own past, by which one that lost acknowledged
  -- writes is found out.
  incarnation integer not null default 0,      -- how often it lost some; 0: it is one machine's, or has not been written to
  servers     text not null default '{}',      -- JSON: by identifier, the timeline on which it was written last
  synchronous integer not null default 0 check (synchronous in (0, 1)), -- a standby had the last write before it was acknowledged
  since       integer,                         -- of the incarnation; null: it is the first
  lost        integer not null default 0,      -- acknowledged writes, as far as it is known
  grants_from integer                          -- no claim is granted before; null: nothing bars grants
) strict;

-- One row a key, for ever: the epoch must never start again.
create table claims (
  key         text primary key,
  holder      text not null,
  epoch       integer not null check (epoch > 0),
  acquired_at integer not null,               -- when this epoch was granted
  expires_at  integer not null,               -- expired from this instant on
  renewals    integer not null default 0,     -- of this epoch; 0 right after a grant
  note        text not null default '',
  released_at integer,                        -- null while not given back
  ending      text not null default '' check (ending in ('', 'released', 'done', 'abandoned')),
  reason      text not null default '',
  attempt     text not null default '',       -- the take that was granted this epoch; empty: it has no name
  incarnation integer not null default 0,     -- of the store, in which this epoch was granted
  took_over   integer,                        -- when the epoch before had expired, which nobody gave back; null: somebody did
  check ((released_at is null) = (ending = ''))
) strict, without rowid;

-- Claims that may be in the way are found without reading all that were ever held.
create index claims_open on claims (holder) where released_at is null;
create index claims_expiry on claims (expires_at) where released_at is null;

create table fires (
  id        integer primary key,               -- never reused
  host      text not null default '',          -- the identity of the machine that fired
  at        integer not null,
  seed      text not null,                     -- unsigned 64 bits, in decimal
  pool      text not null,                     -- of which it started categories
  workers   integer not null,
  due       text not null,                     -- JSON: sessions that it entitles each category to
  inputs    text not null,                     -- JSON: what the ranking was computed from
  selection text not null,                     -- JSON: the payload that was followed
  own       integer not null,                  -- 1: that was stint's own ranking
  allowed   text not null,                     -- JSON: the allow-list
  fallback  text not null,                     -- why an external selector was not followed
  choices   text not null default '[]',        -- JSON: what it decided about each category, and why, in that order
  attempt   text unique                        -- names the attempt that recorded it; null: nobody asks again
) strict;

create index fires_fallback on fires (at) where fallback <> '';
create index fires_at on fires (at);

create table runs (
  id          text primary key,                -- sorts by creation
  host        text not null default '',        -- the identity of the machine that it is at work on
  boot        text not null default '',        -- which start of that machine; empty: nobody knows
  fire        integer references fires (id),   -- null: started by hand
  category    text not null,                   -- the one really worked, after a pivot too
  rank        integer not null,
  chain_depth integer not null default 0,
  source      text not null,
  unit        text not null default '',
  lane        integer not null default 0,
  task        text not null default '',
  key         text not null default '',        -- what was claimed
  epoch       integer not null default 0,
  round       integer not null default 0,      -- of the category when the claim was granted
  load        real not null default 0,         -- of the category then
  nth         integer,                         -- which of the category's sessions it is, from 1; null: it had no claim
  counted     integer,                         -- which of the category's grades it brought, from 1; null: none, or not yet
  agent       text not null default '',
  box         text not null default '',        -- that its agent was in, and what held it
  pid         integer not null default 0,      -- of stint run
  created_at  integer not null,
  not_before  integer,                         -- null: it need not wait
  time_limit  integer not null default 0,      -- ns from its planned start to the last moment of its unit; 0: not known
  started_at  integer,                         -- null: it has no session yet
  ended_at    integer,                         -- null: open
  outcome     text not null default '',
  grade       real check (grade between 0 and 1), -- at its end; null: not graded
  alarm_at    integer,                         -- when its grade showed that the category's have changed; null: it did not
  was         real not null default 0,         -- the mean grade as it was believed before the alarm
  became      real not null default 0,         -- and after
  final       real check (final between 0 and 1), -- after what became of its work; null: nothing did, or it is not graded
  fates       text not null default '[]',      -- JSON: what became of its work, in the order in which it was found out
  fated_at    integer,                         -- when the first of that happened
  landed_at   integer,                         -- when the target last got its work; null: it has none of it by git's word
  reason      text not null default '',
  parts       text not null default '{}',      -- JSON: what the grade is made of
  task_state  text not null default '',        -- what the agent asked for
  exit_status integer,                         -- the agent's own
  fault       text not null default '',        -- what kept the agent from its work, in a word
  held        integer not null default 0 check (held in (0, 1)), -- its failure counts once its agent has worked again
  tokens      integer,                         -- used; null: not known
  usd         real,
  cost        text not null default '' check (cost in ('', 'reported', 'computed', 'assumed')), -- where usd comes from
  models      text not null default '[]',      -- JSON: that were billed, as far as they are named
  day         text not null default '',        -- of the claim, UTC: whose budget it counts for
  reserved_tokens integer not null default 0,  -- in the budgets, until the end has better figures
  reserved_usd    real not null default 0,
  commits     text not null default '[]',      -- JSON: revisions that it made, oldest first
  branch      text not null default '',        -- that it worked on; empty: the workspace's
  quota_until integer,                         -- null: the agent did not say
  followed_by text not null default '',        -- the run that followed it; empty: none
  followed    text not null default '',        -- why one did, or none
  stop        text not null default '',        -- why a person on another machine wants it to end; empty: nobody does
  lease_over  integer,                         -- when its lease was over and its session perhaps not; null: nobody found that so
  lessons     text not null default '[]',      -- JSON: that matched its session, and which of them chance kept from it
  conversation text not null default '{}',     -- JSON: its id, the run with whose conversation it goes on, and why
  lane_at     integer,                         -- when it took its lane, written while it has the lock; null: it took none
  lane_left   integer,                         -- when it gave that back, written while it still has the lock; null: it has it
  overran_to  integer,                         -- when that session ended after it, by its own machine's word; null: it did not, or said nothing
  check ((ended_at is null) = (outcome = ''))
) strict, without rowid;

-- Sessions that ended too late, of which there should be none.
create index runs_overran on runs (overran_to) where overran_to is not null;

create index runs_open on runs (id) where ended_at is null;
create index runs_alarm on runs (alarm_at) where alarm_at is not null;
create index runs_fire on runs (fire, id);

create index runs_task on runs (task, id) where task <> '';

-- For people who leaf through the past.
create index runs_category on runs (category, id);
create index runs_outcome on runs (outcome, id);
create index runs_agent on runs (agent, id);

-- Acquisitions of lanes that lasted into a time; the two-holders check is computed from these.
create index runs_lane on runs (lane_left) where lane_left is not null;

-- The runs that left work, of which something may become.
create index runs_work on runs (id) where commits <> '[]';

-- Failures of which nobody knows yet whether they are the agent's.
create index runs_held on runs (agent) where held = 1;

-- When a category's last session ended on a machine, without reading the others.
create index runs_ended on runs (category, host, ended_at) where key <> '';

create table denials (
  id       integer primary key,                -- from 1
  run      text not null references runs (id),
  category text not null,
  key      text not null,
  holder   text not null,                      -- who had it
  at       integer not null
) strict;

create index denials_at on denials (at);
create index denials_run on denials (run);
create index denials_key on denials (key);

-- What the ranking depends on, in the order in which it was written: package bandit folds it.
create table events (
  seq   integer primary key,                   -- from 1
  event text not null                          -- JSON
) strict;

-- What the events up to one come to, so that no ranking reads history: the last that was stored on each day. Events up
-- to the first may be gone.
create table rankings (
  day   text primary key,                      -- UTC
  seq   integer not null,                      -- of that event
  state text not null                          -- JSON
) strict, without rowid;

-- The results of the sessions of a category that a version of a lesson matched.
create table lessons (
  lesson         text not null,
  version        text not null,                -- a hash of its text: an edited lesson starts anew
  category       text not null,
  at_round       integer not null,             -- the sums are as of this round of the category
  with_w         real not null,                -- graded sessions that got it: weight, grades, squares
  with_s         real not null,
  with_g2        real not null,
  with_graded    integer not null,
  with_empty     integer not null,             -- sessions that ended without work
  with_failed    integer not null,             -- sessions that failed, graded or not
  without_w      real not null,                -- the same of those from which it was withheld
  without_s      real not null,
  without_g2     real not null,
  without_graded integer not null,
  without_empty  integer not null,
  without_failed integer not null,
  exposure       real not null check (exposure between 0 and 1), -- mean, of the sessions behind the belief
  primary key (lesson, version, category)
) strict, without rowid;

-- The state that the sessions of an agent share: nobody needs to find out again what one has met.
create table agents (
  agent      text primary key,
  until      integer,                          -- it cannot work before; null: it can
  since      integer,                          -- when that was found out
  reason     text not null,                    -- why not
  failures   integer not null,                 -- in a row
  limits     integer not null,                 -- usage limits met in a row
  fault      text not null,                    -- why not, in a word; empty: a usage limit, or it can
  faults     integer not null,                 -- of its service or its login, met in a row
  host       text not null default '',         -- of the login that failed; empty: it is no login, or that of several machines
  category   text not null default '',         -- of the failures in a row; empty: there are none, or they are of several
  probe      text not null,                    -- the run that tries an agent after many failures
  bills      text not null default '[]',       -- JSON: of its last sessions that worked, newest first
  windows    text not null default '[]'        -- JSON: of its plan, by host, as a session last heard of them
) strict, without rowid;

-- The amounts that people removed from a day's account.
create table resets (
  id     integer primary key,                  -- from 1
  at     integer not null,
  scope  text not null,
  runs   integer not null,                     -- that were on it
  tokens integer not null,
  usd    real not null,
  kept_runs   integer not null,                -- of these: sessions under way, and what was reserved for them
  kept_tokens integer not null,
  kept_usd    real not null,
  reason text not null
) strict;

-- The use of a day, with the amounts reserved for the sessions under way.
create table spent (
  day    text not null,                        -- UTC
  scope  text not null,                        -- fleet, agent:NAME, category:NAME
  runs   integer not null,
  tokens integer not null,
  usd    real not null,
  guessed real not null default 0,             -- of usd: no agent has reported it, or not yet
  primary key (day, scope)
) strict, without rowid;

-- The state in which sessions, and people, left a task, until its source shows a change of it.
create table tasks (
  task     text primary key,
  state    text not null,                      -- that it stands in; empty: nothing was said of it
  source   text not null,                      -- of whose list it is an item; empty: it is a file
  item     text not null,                      -- its id there
  seen     text not null,                      -- what its source showed then; empty: as it is seen next; -: nothing
  owed     text not null check (owed in ('', 'done', 'release')), -- the report that its tracker is owed
  run      text not null,                      -- that left it; empty: a person
  since    integer not null,                   -- of the last that was left
  sessions integer not null,                   -- that worked on it since its state last changed
  failures integer not null,                   -- that failed at it, in a row
  vain     integer not null,                   -- that worked on it and were not productive, in a row
  taken    integer not null,                   -- that worked on it since it was opened, whatever its source has shown since
  rests    integer not null,                   -- round of its category from which it may be worked on; 0: it does not rest
  reason   text not null,                      -- of the last of these sessions
  trouble  text not null default ''            -- why its source does not show the state; empty: nothing is known to be in the way
) strict, without rowid;

-- The way of the work that runs left through review: the decisions on it, its checks, what checks and reviewers said of
-- it, which the next session at the task is to answer, and its place. Git may know a branch of a run that the record does
-- not. A place is reserved for work before it begins.
create table reviews (
  run          text primary key,
  tip          text not null,                  -- of the branch, when it was decided; empty: nothing was
  decision     text not null check (decision in ('', 'published', 'rejected', 'superseded', 'landed')),
  reason       text not null,
  url          text not null,                  -- of the request, for published work
  decided_by   text not null,                  -- a user's name
  landed_as    text not null,                  -- the target's commit, for landed work
  landed_on    text not null,                  -- and its commit before; empty: nobody knows
  decided_at   integer,
  checked_tip  text not null,                  -- of the branch, when it was last tried on the target; empty: never
  check_ok     integer not null default 0 check (check_ok in (0, 1)),
  check_reason text not null,
  checked_at   integer,
  task         text not null,                  -- of what was said; empty: nothing ever was
  rounds       integer not null,               -- how often that became work
  seen         text not null,                  -- JSON: marks of what is known
  said         text not null,                  -- what the next session is to answer; empty: nothing
  said_at      integer,
  taken        integer not null check (taken in (0, 1)), -- the work has a place
  looked_at    integer,                        -- when a person was first found to look at the work; null: not yet
  given_at     integer                         -- when somebody decided about it, and the place was free; null: not yet
) strict, without rowid;

create index reviews_said on reviews (task) where task <> '';
create index reviews_taken on reviews (run) where taken = 1;
create index reviews_given on reviews (given_at) where given_at is not null;
create index reviews_looked on reviews (looked_at) where looked_at is not null;

-- When people last got which news, so that not every worker sends it.
create table notices (
  event   text not null,
  subject text not null,
  at      integer not null,
  primary key (event, subject)
) strict, without rowid;

-- The work that a person has stopped: fires start nothing there until it is resumed.
create table pauses (
  category text primary key,                   -- empty: the whole fleet
  since    integer not null,
  until    integer,                            -- null: until it is resumed
  reason   text not null
) strict, without rowid;

-- The machines of the fleet, as each said of itself when it last fired.
create table hosts (
  id        text primary key,                  -- of its state folder
  name      text not null,                     -- no two that are not gone have one name
  machine   text not null,                     -- machine-id(5); empty: it has none
  boot      text not null,                     -- which start of it was the last that fired; empty: nobody knows
  boots     text not null default '[]',        -- JSON: its starts that were seen; a process of one that was followed by another is a copy's
  version   text not null,                     -- of stint
  arch      text not null,
  workspace text not null,                     -- its path there
  slots     integer not null,                  -- for sessions; 0: nobody bounded them
  labels    text not null,                     -- JSON
  config    text not null,                     -- digest of its configuration file; empty: nobody knows
  ahead     integer not null,                  -- of its clock, the store's, in milliseconds
  fired_at  integer,                           -- null: it never fired, and people work there
  gone_at   integer,                           -- since when a person says that it is off; null: nobody does
  reason    text not null
) strict, without rowid;

-- When a machine last fired, or one of its sessions had its heartbeat. That keeps out nobody who decides
-- on the machine.
create table heard (
  host text primary key,
  at   integer not null
) strict, without rowid;

-- The last of what the agents of sessions printed, of the last two weeks, where several machines share
-- the store: the log itself is on the machine of the run.
create table tails (
  run  text primary key,
  at   integer not null,                       -- when that machine reported it
  text text not null
) strict, without rowid;

create index tails_at on tails (at);

-- How many writes of each machine there were. A machine remembers how many were acknowledged.
create table acknowledged (
  host   text primary key,
  writes integer not null
) strict, without rowid;
