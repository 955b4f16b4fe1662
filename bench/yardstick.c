/* What BatchGame('two_player').step does, by hand for that one game: the yardstick of the batch.
 *
 * The same deals from the same seeds, the same bytes. One thread, all of a game in a cache line.
 * Cards are 0 to 27, seven a suit, clubs, diamonds, spades, hearts. */
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define DECK 0xfffffffu
#define SUIT(s) (127u << 7 * (s))
#define HEARTS SUIT(3)
#define QUEEN (1u << 19)
#define GOLDEN 0x9e3779b97f4a7c15u

typedef struct {
    uint64_t deals;
    uint32_t hand[2], played[2], taken[2], excluded[2], trick;
    uint8_t voids[2], player, leader, first, led, best, broken, tricks;
} __attribute__((aligned(64))) Game;

static uint64_t mix(uint64_t x) {
    x += GOLDEN;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void deal(Game *s, uint64_t seed, uint64_t number) {
    uint64_t deals = s->deals + 1;
    uint64_t random = mix(mix(mix(seed + mix(number)) + deals) >> 1);
    uint8_t cards[28];
    memset(s, 0, sizeof *s);
    s->deals = deals;
    for (int i = 0; i < 28; i++) cards[i] = i;
#pragma GCC unroll 28
    for (int i = 27; i > 0; i--) {
        random += GOLDEN;
        int j = mix(random) % (i + 1);
        uint8_t card = cards[i];
        cards[i] = cards[j];
        cards[j] = card;
    }
    for (int i = 0; i < 13; i++) {
        s->hand[0] |= 1u << cards[i];
        s->hand[1] |= 1u << cards[13 + i];
    }
    uint32_t dealt = s->hand[0] | s->hand[1];
    s->player = s->leader = s->first = (s->hand[1] & dealt & -dealt) != 0;
}

static uint32_t legal_cards(const Game *s) {
    uint32_t hand = s->hand[s->player];
    if (s->trick) {
        uint32_t follow = hand & SUIT(s->led);
        return follow ? follow : hand;
    }
    if (s->tricks == 0) return hand & -hand;
    return s->broken || !(hand & (SUIT(0) | SUIT(1))) ? hand : hand & ~HEARTS;
}

/* Whether the card ends the deal. */
static int play(Game *s, int card) {
    int p = s->player, suit = card / 7;
    uint32_t bit = 1u << card;
    s->hand[p] ^= bit;
    s->played[p] |= bit;
    if (!s->trick) {
        if (s->tricks == 0) {
            s->excluded[0] |= bit - 1;
            s->excluded[1] |= bit - 1;
        } else if (suit == 3 && !s->broken)
            s->excluded[p] |= SUIT(0) | SUIT(1);
        s->broken |= suit == 3;
        s->led = suit;
        s->best = card;
        s->trick = bit;
        s->player = !p;
        return 0;
    }
    if (suit != s->led) {
        s->broken = 1;
        s->voids[p] |= 1 << s->led;
        s->excluded[p] |= SUIT(s->led);
    }
    s->broken |= suit == 3;
    int wins = suit == s->led ? card > s->best : suit == 3;
    int taker = wins ? p : !p;
    s->taken[taker] |= s->trick | bit;
    s->trick = 0;
    s->player = s->leader = taker;
    return ++s->tricks == 13;
}

static void score(const Game *s, int64_t *scores) {
    for (int p = 0; p < 2; p++) {
        uint32_t own = s->taken[p] & (HEARTS | QUEEN), others = s->taken[!p] & (HEARTS | QUEEN);
        scores[p] = __builtin_popcount(own & HEARTS) + (own & QUEEN ? 13 : 0);
        if (!own) scores[p] = 20; /* the other has shot the moon */
        if (!others) scores[p] = 0;
    }
}

static void spread(uint64_t word, int8_t *out) {
#if defined __AVX512BW__
    _mm512_storeu_si512(out, _mm512_maskz_set1_epi8(word, 1));
#elif defined __AVX2__
    const __m256i bit = _mm256_set1_epi64x(0x8040201008040201), one = _mm256_set1_epi8(1);
    const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                            0x0303030303030303);
    for (int i = 0; i < 2; i++) {
        __m256i x = _mm256_shuffle_epi8(_mm256_set1_epi32(word >> 32 * i), byte);
        x = _mm256_min_epu8(_mm256_and_si256(x, bit), one);
        _mm256_storeu_si256((__m256i *)(out + 32 * i), x);
    }
#else
    for (int i = 0; i < 64; i++) out[i] = word >> i & 1;
#endif
}

static void observe(const Game *s, int8_t *out) {
    int p = s->player, q = !p;
    uint64_t own = s->played[p], theirs = s->played[q], trick = s->trick;
    uint64_t held = DECK & ~(s->hand[p] | s->played[p] | s->played[q] | s->excluded[q]);
    uint64_t took[2], led = trick ? 1u << s->led : 0;
    for (int i = 0; i < 2; i++) took[i] = (s->taken[i] >> 19 & 1) | (s->taken[i] >> 20 & 254);
    uint64_t winner = trick ? 2 : 0; /* a led card wins until it is answered */
    uint64_t seats = winner | 1u << (s->leader ^ p) << 2 | 1u << (s->first ^ p) << 4;
    spread(s->hand[p] | own << 28 | theirs << 56, out);
    spread(theirs >> 8 | trick << 20 | held << 48, out + 64);
    spread(held >> 16 | took[p] << 12 | took[q] << 20 | led << 28 | (uint64_t)s->voids[p] << 32 |
               (uint64_t)s->voids[q] << 36 | seats << 40 | (9ull | s->broken << 1) << 46,
           out + 128);
    memset(out + 192, 0, 8);
}

void begin(Game *games, int64_t n, uint64_t seed, int64_t *legal) {
    for (int64_t g = 0; g < n; g++) {
        deal(games + g, seed, g);
        legal[g] = legal_cards(games + g);
    }
}

/* How many actions are illegal; if any is, nothing has been played. */
int64_t step(Game *games, int64_t n, uint64_t seed, int64_t *legal, uint8_t *done, int64_t *scores,
             const int64_t *actions, int8_t *observations, int8_t *masks) {
    int64_t bad = 0;
    for (int64_t g = 0; g < n; g++) bad += (uint64_t)actions[g] > 27 || !(legal[g] >> actions[g] & 1);
    if (bad) return bad;
    for (int64_t g = 0; g < n; g++) {
        Game *s = games + g;
        if ((done[g] = play(s, actions[g]))) {
            score(s, scores + 2 * g);
            deal(s, seed, g);
        }
        legal[g] = legal_cards(s);
        observe(s, observations + 200 * g);
        int8_t *mask = masks + 28 * g;
        if (g + 3 <= n) /* what it writes too much, the next rows write over */
            spread(legal[g], mask);
        else
            for (int i = 0; i < 28; i++) mask[i] = legal[g] >> i & 1;
    }
    return 0;
}
