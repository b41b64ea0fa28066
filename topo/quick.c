#include "topo/build.h"
#include "topo/pins.h"
#include "common/crc32c.h"
#include "common/units.h"
#include "common/prng.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
uint32_t topo_find(const struct topo *t, const char *n){for(uint32_t i=0;i<t->nnodes;i++)if(!strcmp(t->nodes[i].name,n))return i;return TOPO_NONE;}
uint32_t topo_find_port(const struct topo *t, const char *s){char b[64];snprintf(b,64,"%s",s);char*c=strrchr(b,':');if(!c)return TOPO_NONE;*c=0;uint32_t n=topo_find(t,b);int p=atoi(c+1);if(n==TOPO_NONE||p<1||p>t->nodes[n].nports)return TOPO_NONE;return t->nodes[n].first_port+p-1;}
char *topo_port_name(const struct topo *t, uint32_t p, char *b){snprintf(b,40,"%s:%u",t->nodes[t->ports[p].node].name,t->ports[p].index+1u);return b;}
struct tp{struct cfg_where where;const char*kind;uint64_t rate,delay;int64_t k,leaves,spines,hpl;struct cfg_strings sw,hosts;};
struct tl{struct cfg_where where;const char*a,*b;uint64_t rate,delay;};
#define O(x) offsetof(struct tp,x)
static const struct cfg_field tf[]={{"kind",CFG_STRING,O(kind),NULL,0,0,NULL,""},{"rate",CFG_RATE,O(rate),"100Gbps",0,0,NULL,""},{"delay",CFG_TIME,O(delay),"2us",0,0,NULL,""},{"k",CFG_INT,O(k),"4",0,0,NULL,""},{"leaves",CFG_INT,O(leaves),"2",0,0,NULL,""},{"spines",CFG_INT,O(spines),"2",0,0,NULL,""},{"hosts_per_leaf",CFG_INT,O(hpl),"4",0,0,NULL,""},{"switches",CFG_STRINGS,O(sw),"",0,0,NULL,""},{"hosts",CFG_STRINGS,O(hosts),"",0,0,NULL,""}};
#undef O
#define O(x) offsetof(struct tl,x)
static const struct cfg_field lf[]={{"a",CFG_STRING,O(a),NULL,0,0,NULL,""},{"b",CFG_STRING,O(b),NULL,0,0,NULL,""},{"rate",CFG_RATE,O(rate),"",0,0,NULL,""},{"delay",CFG_TIME,O(delay),"",0,0,NULL,""}};
static const struct cfg_table tt={.path="topology",.doc="",.size=sizeof(struct tp),.fields=tf,.nfields=9};
static const struct cfg_table lt={.path="topology.links",.doc="",.list=true,.size=sizeof(struct tl),.fields=lf,.nfields=4,.words="a b rate delay"};
struct pp{struct cfg_where where;const char*src,*dst;int64_t sport,dport;struct cfg_strings data,ack;};
#undef O
#define O(x) offsetof(struct pp,x)
static const struct cfg_field pf[]={{"src",CFG_STRING,O(src),NULL,0,0,NULL,""},{"dst",CFG_STRING,O(dst),NULL,0,0,NULL,""},{"sport",CFG_INT,O(sport),"0",0,0,NULL,""},{"dport",CFG_INT,O(dport),"0",0,0,NULL,""},{"data",CFG_STRINGS,O(data),"",0,0,NULL,""},{"ack",CFG_STRINGS,O(ack),"",0,0,NULL,""}};
static const struct cfg_table pt={.path="paths",.doc="",.list=true,.size=sizeof(struct pp),.fields=pf,.nfields=6};
size_t topo_tables(struct cfg_known*k,size_t c){k[0]=(struct cfg_known){&tt,NULL};k[1]=(struct cfg_known){&lt,NULL};k[2]=(struct cfg_known){&pt,NULL};(void)c;return 3;}
static struct topo*T;static uint32_t la[65536],lb[65536];static uint64_t lr[65536],ld[65536];
static uint32_t addn(const char*n,enum topo_kind k){T->nodes=realloc(T->nodes,(T->nnodes+1)*sizeof*T->nodes);struct topo_node*x=&T->nodes[T->nnodes];memset(x,0,sizeof*x);snprintf(x->name,32,"%s",n);x->kind=k;if(k==TOPO_HOST){T->hosts=realloc(T->hosts,(T->nhosts+1)*4);T->hosts[T->nhosts++]=T->nnodes;}else T->nswitches++;return T->nnodes++;}
static void addl(uint32_t a,uint32_t b,uint64_t r,uint64_t d){la[T->nlinks]=a;lb[T->nlinks]=b;lr[T->nlinks]=r;ld[T->nlinks++]=d;}
int topo_build(const struct cfg *cfg, struct topo **out, struct err *err){struct tp p;int r=cfg_bind(cfg,&tt,&p,err);if(r)return r;T=calloc(1,sizeof*T);char n[32];
if(!strcmp(p.kind,"explicit")){for(size_t i=0;i<p.sw.count;i++)addn(p.sw.items[i],TOPO_SWITCH);for(size_t i=0;i<p.hosts.count;i++)addn(p.hosts.items[i],TOPO_HOST);struct tl*l;size_t c;r=cfg_bind_list(cfg,&lt,NULL,(void**)&l,&c,err);if(r)return r;for(size_t i=0;i<c;i++)addl(topo_find(T,l[i].a),topo_find(T,l[i].b),l[i].rate?l[i].rate:p.rate,l[i].delay?l[i].delay:p.delay);}
else if(!strcmp(p.kind,"fat-tree")){int k=p.k,h=k/2;uint32_t H[4096],E[512],A[512],C[512];for(int i=0;i<h*h;i++){sprintf(n,"c%d",i);C[i]=addn(n,TOPO_SWITCH);}for(int i=0;i<k*h;i++){sprintf(n,"a%d",i);A[i]=addn(n,TOPO_SWITCH);}for(int i=0;i<k*h;i++){sprintf(n,"e%d",i);E[i]=addn(n,TOPO_SWITCH);}for(int i=0;i<k*h*h;i++){sprintf(n,"h%d",i);H[i]=addn(n,TOPO_HOST);}for(int i=0;i<k*h*h;i++)addl(H[i],E[i/h],p.rate,p.delay);for(int e=0;e<k*h;e++)for(int j=0;j<h;j++)addl(E[e],A[e/h*h+j],p.rate,p.delay);for(int a=0;a<k*h;a++)for(int j=0;j<h;j++)addl(A[a],C[a%h*h+j],p.rate,p.delay);}
else {uint32_t L[256],S[256];for(int i=0;i<p.leaves;i++){sprintf(n,"leaf%d",i);L[i]=addn(n,TOPO_SWITCH);}for(int i=0;i<p.spines;i++){sprintf(n,"spine%d",i);S[i]=addn(n,TOPO_SWITCH);}for(int i=0;i<p.leaves*p.hpl;i++){sprintf(n,"h%d",i);uint32_t x=addn(n,TOPO_HOST);addl(x,L[i/p.hpl],p.rate,p.delay);}for(int i=0;i<p.leaves;i++)for(int j=0;j<p.spines;j++)addl(L[i],S[j],p.rate,p.delay);}
T->nports=2*T->nlinks;T->ports=calloc(T->nports,sizeof*T->ports);for(uint32_t i=0;i<T->nlinks;i++){T->nodes[la[i]].nports++;T->nodes[lb[i]].nports++;}uint32_t f=0;for(uint32_t i=0;i<T->nnodes;i++){T->nodes[i].first_port=f;f+=T->nodes[i].nports;T->nodes[i].nports=0;}
for(uint32_t i=0;i<T->nlinks;i++){uint32_t a=la[i],b=lb[i];uint16_t x=T->nodes[a].nports++,y=T->nodes[b].nports++;uint32_t pa=T->nodes[a].first_port+x,pb=T->nodes[b].first_port+y;T->ports[pa]=(struct topo_port){a,x,y,b,pb,i,lr[i],ld[i]};T->ports[pb]=(struct topo_port){b,y,x,a,pa,i,lr[i],ld[i]};}
*out=T;return 0;}
void topo_destroy(struct topo*t){if(!t)return;free(t->nodes);free(t->ports);free(t->hosts);free(t);}
struct route_table{const struct topo*t;uint8_t*hops;uint8_t*n;};
struct route_table *route_table_create(const struct topo *t){struct route_table*r=calloc(1,sizeof*r);r->t=t;r->hops=calloc((size_t)t->nnodes*t->nnodes,16);r->n=calloc((size_t)t->nnodes*t->nnodes,1);uint32_t*d=malloc(4*t->nnodes),*q=malloc(4*t->nnodes);
for(uint32_t h=0;h<t->nhosts;h++){uint32_t dst=t->hosts[h];memset(d,255,4*t->nnodes);uint32_t a=0,b=0;q[b++]=dst;d[dst]=0;while(a<b){uint32_t u=q[a++];if(u!=dst&&t->nodes[u].kind==TOPO_HOST)continue;for(int p=0;p<t->nodes[u].nports;p++){uint32_t v=topo_port_of(t,u,p)->peer;if(d[v]==UINT32_MAX){d[v]=d[u]+1;q[b++]=v;}}}
for(uint32_t u=0;u<t->nnodes;u++)if(u!=dst)for(int p=0;p<t->nodes[u].nports;p++){uint32_t v=topo_port_of(t,u,p)->peer;if(d[v]!=UINT32_MAX&&d[v]+1==d[u]&&(v==dst||t->nodes[v].kind!=TOPO_HOST)){size_t k=(size_t)u*t->nnodes+dst;r->hops[k*16+r->n[k]++]=p;}}}free(d);free(q);return r;}
void route_table_destroy(struct route_table*r){if(!r)return;free(r->hops);free(r->n);free(r);}
uint32_t route_next_hops(const struct route_table *r, uint32_t node, uint32_t dst, uint16_t nic, const uint8_t **p){size_t k=(size_t)node*r->t->nnodes+dst;(void)nic;*p=&r->hops[k*16];return r->n[k];}
uint32_t route_select(uint64_t seed, uint32_t node, uint32_t a, uint32_t b, uint16_t c, uint16_t d, uint32_t m){return (uint32_t)(prng_mix(seed*7919+node+prng_mix(((uint64_t)a<<32|b)+prng_mix((uint32_t)c<<16|d)))%m);}
static const struct route_pins *GP; static const struct flow_table*GF;
struct route_pins{const struct topo*t;int8_t*e;uint32_t nf;};
struct route_pins *route_pins_load(const struct cfg *cfg, const struct topo *t, const struct flow_table *fl, struct err *err){struct route_pins*r=calloc(1,sizeof*r);r->t=t;r->nf=fl->count;r->e=malloc((size_t)t->nnodes*fl->count*2+1);memset(r->e,-1,(size_t)t->nnodes*fl->count*2+1);struct pp*p;size_t c;if(cfg_bind_list(cfg,&pt,NULL,(void**)&p,&c,err))return NULL;
for(size_t i=0;i<c;i++){uint32_t s=topo_find(t,p[i].src),d=topo_find(t,p[i].dst);for(uint32_t f=0;f<fl->count;f++){const struct flow*x=&fl->flows[f];if(x->src_node!=s||x->dst_node!=d||(p[i].sport&&p[i].sport!=x->sport)||(p[i].dport&&p[i].dport!=x->dport))continue;for(int rev=0;rev<2;rev++){struct cfg_strings*l=rev?&p[i].ack:&p[i].data;for(size_t k=0;k<l->count;k++){uint32_t g=topo_find_port(t,l->items[k]);r->e[((size_t)t->ports[g].node*fl->count+f)*2+rev]=t->ports[g].index;}}}}GP=r;GF=fl;return r;}
void route_pins_destroy(struct route_pins*p){if(p){free(p->e);free(p);}}
int route_pinned_egress(const struct route_pins *p, uint32_t node, uint32_t flow, bool rev){return p->e[((size_t)node*p->nf+flow)*2+rev];}

int route_flow_path(const struct topo *t, const struct route_table *r, uint64_t seed, const struct flow *f, bool rev, struct route_path *path){uint32_t u=rev?f->dst_node:f->src_node,d=rev?f->src_node:f->dst_node;path->hops=0;uint32_t fi=GF?(uint32_t)(f-GF->flows):UINT32_MAX;while(u!=d){if(path->hops==ROUTE_MAX_HOPS)return -ELOOP;const uint8_t*h;uint32_t n=route_next_hops(r,u,d,0,&h);if(!n)return -EHOSTUNREACH;int e=-1;if(GP&&fi<GF->count)e=route_pinned_egress(GP,u,fi,rev);if(e<0)e=u==(rev?f->dst_node:f->src_node)?(rev?f->dst_nic:f->src_nic):h[rev?route_select(seed,u,f->dst_ip,f->src_ip,f->dport,f->sport,n):route_select(seed,u,f->src_ip,f->dst_ip,f->sport,f->dport,n)];uint32_t g=t->nodes[u].first_port+e;path->ports[path->hops++]=g;u=t->ports[g].peer;}return 0;}
uint64_t route_rtt_ps(const struct topo *t, const struct route_path *f, const struct route_path *r, uint32_t fb, uint32_t ab, uint64_t pl, uint64_t q){uint64_t s=0;for(uint32_t i=0;i<f->hops;i++)s+=t->ports[f->ports[i]].delay_ps+pl+units_serialize_ps(fb,t->ports[f->ports[i]].rate_bps,q);for(uint32_t i=0;i<r->hops;i++)s+=t->ports[r->ports[i]].delay_ps+pl+units_serialize_ps(ab,t->ports[r->ports[i]].rate_bps,q);return s;}
