// Package rank decides what a fleet works on. It believes how good each category of work is, and counts how much
// work it is owed: Thompson sampling under floors and caps. It is pure: evidence,
// clock and chance come in as values.
//
// Per fire it solves one constrained problem: to maximise the long-run average grade
// while every category gets at least a part of its entitlement and at most a
// multiple of it. Drift plus penalty solves it (Neely; Li, Liu and Ji). The solution is
// an index that is a sum ([Components]), all in units of grade, so that every decision
// can be explained term by term.
//
// The literature calls a choice an arm: here, it is a category. Each has its
// clock ([fleet.Round]), which the fires of its pool move on: those that could start
// something. So nothing is forgotten while the fleet stands still, is paused, finds its
// gates closed or its categories without work, and no pool's timer is another's clock.
//
// # The belief
//
// A category's sessions have the grades g and the weights w = 2^-(age / half_life), with
// the age in rounds since the session began. W, S and G are the sums of w, w g and w g g;
// W' and S' are those with slow_half_life. P is the mean of all categories of the pool,
// and F their f, the scatter of grades: 1 for grades of 0 and 1.
//
//	P  = (1 + sum of u S'/W') / (2 + sum of u)              with u = W' / (W' + 10)
//	m  = (4 P + S') / (4 + W'), from 0.05 to 0.95           the long-run mean
//	f  = (10 F + W (G - S S/W) / (S - S S/W)) / (10 + W)    from 0.05 to 1
//	n  = 2 + (W' - W) / f, at most 12                       the weight of what faded
//	ts = a draw from Beta(n m + S/f, n (1 - m) + (W - S)/f)
//
// As the evidence fades, the belief returns to the category's long-run mean. A session in
// flight counts as if it brought the mean. A grade counts when the session ends. Review
// corrects it, as if the final grade had come at once. An interval holds with 95 % for a mean that has
// not changed since its sessions.
//
// An alarm sums up the surprises (g - mean - season - shift) / sqrt(f mean (1 - mean)), less 0.25
// each, to either side and never below 0, once W is above 4. The shift is by how much the last grades of all categories
// are off alike, whichever one of them is left out. Above the setting Alarm, only
// what came since the sum was last 0 is known, worth at most 6 sessions. First grades are
// compared with first grades.
//
// # The state
//
// All of it is one fold: [State.Fold] takes numbered events in their order. A stored state is a
// cache, and the events since give the same bits. A corrected grade moves the sums by its
// difference, with the weight that the first one has in them now: 0 if it is older than what
// the last alarm kept.
//
// Sessions of an older fleet may come first, at their age of 30 minutes a round ([Session]). They
// are in W, S and G, and in the season; they are no debt, no load and no surprise.
//
// # The other parts of the score
//
//	plateau = -b (load - mean load of the sessions behind the belief), b at least 0
//	season  = a (x - mean x) + c (y - mean y)               x and y: two waves of a day or a week
//	loo     = sum of effect (next - behind), from -0.2 to 0.2
//	div     = (deficit - surplus) / v
//	prices  of what binds, see below
//
// The slopes a, b and c are ridge regressions: b is drawn towards the slope of all
// categories, a and c towards 0. In the load, a session weighs half after 6 rounds. A
// lesson's effect is the difference of the grades with and without it, within categories,
// drawn towards 0 as if effects were spread by 0.1. Next and behind are the exposure of
// the next session and of those behind the belief. Of day and week, that
// counts which explains more. What chance explains is exactly 0: the slope of all loads and the waves within
// two standard deviations of nothing, and an effect whose interval holds 0.
//
// # Prices
//
// Where a resource binds, a session is charged for what it is expected to use of it. For USD, tokens and hours of a slot, with
// u(c) the mean of the category's last sessions, drawn towards u, that of all:
//
//	price  = λ u(c), at most 1                              in units of grade; it is taken from the score
//	λ      = pressure P / u                                 grades per USD, per token or per hour
//
// At full pressure a unit earns λ in the mean. The pressure of a budget of B a day moves by η = 8/B a unit, from -1 to 1, and
// binds above 0. A session that ends raises it by η x what it used. Time lowers it by η x what became available: what is left of B
// becomes so evenly over the rest of the day, which ends at midnight UTC. The pressure of a pool's slots rises by 1/4 for each hour
// in which its fires found none for a category that could start, and falls as fast; 0.23 of it counts. As only what ended
// and the time move a pressure, any number of hosts moves it once.
//
// # Agents
//
// A category's session goes to the agent with the highest draw, less its price, of those that can work. An agent's belief is its
// own grades of the category, with the category's mean as 4 sessions more; without grades it has the category's draw. The draw of
// the category is its own, so that the number of its agents raises it by nothing.
//
// # Shares
//
// A fire of N sessions entitles each category that it could start to p = min(1, k share),
// with k such that these add up to N. With x sessions since, however they were started,
//
//	deficit = max(0, deficit + floor p - x)
//	surplus = max(0, surplus + x - cap p)                   above max(v, 4): forgiven
//
// so that at every time, with n sessions of a category and E the sum of its p,
//
//	n >= floor E - deficit   and   n <= cap E + surplus + forgiven
//
// A surplus is seldom above 3 sessions, and a category waits for at most about 8 sessions
// that it is entitled to: 8 / (w s) fires for w sessions a fire and a share s.
//
// # What was measured
//
// "make bench-selection" measures this, with three sessions a fire and 12 categories.
//
//   - 1000 fires with shares earn 1.80 a fire. Known means earn 1.82, and turns 1.67.
//   - Grades that swing by 0.2 over a day earn 1.89 a fire, and 1.65 without the season.
//     Over a week, at hourly fires, it is 1.86 and 1.66. Cycles of half a day or two days are not followed.
//   - The worst category (0.05) reports a grade of 1.0: the loss is 0.7 %, 6 % where its
//     sessions leave a change, and 10.6 % where its agent is trusted.
//   - The best category begins to fail: 17 fires later the belief is half of what it was.
//   - 8 categories without work 85 % of the time: 1.71 a fire, and 8 % of the sessions are
//     empty. Rankings that grade these 0 earn 1.04 at most.
//   - Agents 0.25 apart earn 18 % more than the one in the middle, and 5 % where 0.1 apart.
//   - Under a budget for a third of the sessions, prices earn 14 % more where costs differ up to 4 times, and 58 % where 50 times.
//     With full slots and sessions that last up to 20 times as long it is 18 %; -1.6 % where long ones are worth more by their length.
//   - The intervals hold the true mean in 98 % of the cases while it stays, and in 53 to
//     68 % where means move by 0.01 a fire.
//
// # Sources
//
//   - Komiyama, Honda and Nakagawa, "Optimal Regret Analysis of Thompson Sampling in
//     Stochastic Multi-armed Bandit Problem with Multiple Plays", ICML 2015.
//   - Neely, "Stochastic Network Optimization", 2010, for the debts.
//   - Li, Liu and Ji, "Combinatorial Sleeping Bandits with Fairness Constraints", 2019.
//   - Page, "Continuous Inspection Schemes", Biometrika 1954, for the alarm.
//   - Cormode, Shkapenyuk, Srivastava and Xu, "Forward Decay", ICDE 2009.
//
// # The ranking and its payload
//
// A ranking travels in a payload, and has a reason for each category that is in or out.
//
// A ranking takes two steps. [Situation.Assess] looks at tasks, claims and lanes and
// says which categories can be started; [Rank] orders these. The input of [Rank] is small, and
// is stored with each fire.
//
// The ranking recommends; it leaves out only what is known to be stable (a lane
// in use, a claim that stands). The claim decides who really works on a task.
package rank
