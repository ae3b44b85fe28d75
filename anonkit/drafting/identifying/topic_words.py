# SPDX-License-Identifier: Apache-2.0
"""Topic of a column, by the words of its name and by published lists of values: demography, places, secrets.

The lists are short and public: words of column names in nine languages, countries and nationalities, sexes, marital
states, religions, common diagnoses, parties. They do not know every word: what they miss is not judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from anonkit.drafting.identifying.street_addresses import vocabulary, words_of

_PLAIN_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ß": "ss", "æ": "ae", "đ": "d", "ı": "i", "œ": "oe"})
_MOSTLY = 0.6
"""Share of the values of a column that a list must know."""
_MAX_AGE = 120


def folded(text: str) -> str:
    """Return a text in lower case, without accents and blanks at the ends."""
    apart = unicodedata.normalize("NFKD", text.strip().casefold().translate(_PLAIN_LETTERS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _words(text: str) -> frozenset[str]:
    return frozenset(map(folded, vocabulary(text)))


def _phrases(text: str) -> frozenset[str]:
    """Return the values of a list that commas and line ends part."""
    return frozenset(folded(part) for part in re.split(r"[,\n]", text) if part.strip())


# --- words of column names -------------------------------------------------------------------------------------

_BIRTH_AGE_SEX_WORDS = _words(
    "age ages aged birth born birthdate birthday birthyear dob yob sex gender "
    "alter lebensalter geburt geburtsdatum geburtstag geburtsjahr geburtsort geboren geschlecht jahrgang "
    "âge naissance sexe datenaissance edad nacimiento nacido nacida fechanacimiento sexo género genero "
    "nascita nato nata sesso idade nascimento nascido nascida "
    "leeftijd geboorte geboortedatum geboortejaar geslacht wiek urodzenia urodzony urodzona płeć "
    "alder fødsel fødselsdato fødselsår fødselsdag født ålder födelsedatum"
)
_AGE_SEX_AS_WRITTEN = vocabulary("età køn kön")
"""Words that are others without their accents."""
_ORIGIN_WORDS = _words(
    "origin race ethnicity ethnic ethnicgroup nationality citizenship ancestry tribe caste native birthplace "
    "immigrant immigration migrant migration descent "
    "herkunft abstammung ethnie nationalität staatsangehörigkeit staatsbürgerschaft migrationshintergrund "
    "muttersprache geburtsland "
    "origine ethnique nationalité citoyenneté origen raza etnia nacionalidad ciudadanía origini razza nazionalità "
    "cittadinanza origem raça nacionalidade cidadania afkomst herkomst ras etniciteit nationaliteit pochodzenie "
    "narodowość obywatelstwo rasa oprindelse herkomst nationalitet statsborgerskab etnicitet"
)
_MARITAL_WORDS = _words(
    "marital maritalstatus marriage married spouse civilstatus relationship "
    "familienstand zivilstand ehestand verheiratet matrimonial marié mariée étatcivil "
    "matrimonio casado casada estadocivil coniugale sposato sposata "
    "burgerlijke gehuwd huwelijk matrimonialny małżeński żonaty zamężna civilstand ægteskab"
)
_STATUS_PAIRS = frozenset(
    {
        ("etat", "civil"),
        ("estado", "civil"),
        ("stato", "civile"),
        ("civil", "status"),
        ("stan", "cywilny"),
        ("mother", "tongue"),
        ("country", "birth"),
    }
)
"""Two words side by side in a name."""
_SOCIAL_WORDS = _words(
    "occupation profession job employer education schooling degree household children kids family dependents "
    "dependants language ethnicity veteran military "
    "beruf arbeitgeber bildung bildungsabschluss schulabschluss haushalt haushaltsgröße kinder kinderzahl sprache "
    "métier emploi employeur éducation diplôme ménage enfants langue "
    "ocupación profesión empleo empleador educación estudios hogar hijos idioma "
    "occupazione professione lavoro istruzione famiglia figli lingua "
    "ocupação profissão emprego educação escolaridade filhos família língua "
    "beroep werkgever opleiding huishouden kinderen gezin taal zawód pracodawca wykształcenie dzieci rodzina język "
    "erhverv stilling arbejdsgiver uddannelse husstand børn familie sprog"
)
_PLACE_WORDS = _words(
    "place city town village country state county region province district municipality borough suburb "
    "neighbourhood neighborhood area location residence address street zip zipcode postcode postal latitude lat "
    "longitude lon lng long coordinates geo geohash canton commune parish ward precinct constituency tract block "
    "ort wohnort stadt gemeinde land bundesland kreis landkreis bezirk stadtteil viertel plz postleitzahl straße "
    "strasse adresse anschrift kanton breitengrad längengrad staat "
    "lieu ville pays région département arrondissement quartier rue codepostal cp domicile "
    "lugar ciudad país provincia municipio comunidad región barrio calle domicilio "
    "luogo città paese regione comune quartiere via indirizzo residenza cap "
    "cidade estado concelho distrito freguesia bairro rua morada endereço cep município "
    "plaats stad woonplaats gemeente provincie wijk buurt straat adres postcode regio "
    "miejsce miasto kraj województwo powiat gmina dzielnica ulica "
    "sted by kommune amt bydel gade vej postnummer postnr landsdel bopæl"
)
_PLACE_ONLY_ALONE = _words("by via land long cap block state estado area")
"""Words that mean much else: they count as places only where they are the whole name."""

_TIME_WORDS = _words(
    "date datetime time timestamp day month year quarter week weekday hour minute "
    "datum tag monat jahr quartal woche wochentag uhrzeit stunde zeit heure mois année semaine jour "
    "fecha día mes año trimestre semana hora data giorno mese anno settimana ora dia ano mês semana "
    "dag maand jaar kwartaal uur tijd dzień miesiąc rok kwartał tydzień godzina czas dato måned år kvartal uge time"
)

_SECRET_STEMS = tuple(
    sorted(
        _words(
            # health
            "diagnos illness disease disorder symptom medication therap psychiatr psycholog hiv aids cancer tumor "
            "tumour diabet stroke depress anxiety disab handicap pregnan abortion miscarriage genotyp genetic overdose "
            "suicid addict alcoholi patholog comorbid mortality deceas infecti epilep dement schizo hepatit asthma "
            "covid krankheit erkrankung medikament behinder schwanger krebs "
            "maladi traitement médicament grossesse enfermedad tratamiento medicament discapac embarazo dolencia "
            "malatti farmac gravidanz doença deficiênc medicac ziekte medicijn zwanger aandoening "
            "chorob leczeni niepełnospraw sygdom lidelse graviditet "
            # religion and belief
            "relig faith belief church confession glaube konfession bekenntnis croyance creenc godsdienst geloof "
            # politics
            "wyznani politi polityk parteizugehör ideolog "
            # sexuality
            "sexual seksual homosex lgbt "
            # crime
            "crime crimin convict arrest offence offense felony prison recidiv fraud guilty "
            "straftat verbrechen vorstrafe verurteil condann misdrijf veroordel przestęp skazan kriminal "
            # membership of a trade union
            "gewerkschaft syndica sindica sindacat vakbond związk fagforening "
            # pay
            "salar payroll gehalt gehält verdienst rémunér sueldo stipend retribuz wynagrodz zarobk "
            "wealth vermögen patrimon debt schulden "
        )
    )
)
"""Beginnings of words."""
_SECRET_WORDS = _words(
    "health ill sick condition icd treatment drug drugs mental death dead died bmi smoker smoking alcohol diag "
    "befund sucht leiden krank santé salud salute saúde gezondheid gesundheit zdrowie sundhed ciąża wiara creed "
    "vote votes voted voting party partei parti partia partij partito partido wahl wähler stemme głos voto orientation "
    "gay delito delit reato condena infração straf dømt union unions wage wages pay earning earnings bonus lohn löhne "
    "salaris loon nómina ordenado vencimento pensja deuda dette debito dívida gæld dług"
)
_SECRET_AS_WRITTEN = vocabulary("løn lønn")
"""Words that are others without their accents."""
_INCOME_STEMS = tuple(sorted(_words("income einkommen revenu ingreso reddito renda rendimento inkomen dochod dochód")))
"""Secret as an amount; two or three classes of it are a label that tables of learners have."""
# --- published lists of values ---------------------------------------------------------------------------------

UNKNOWN_VALUES = _phrases(
    "?,-,--,.,*,na,n/a,n.a.,nan,null,none,nil,missing,unknown,not stated,not available,not known,undisclosed,"
    "prefer not to say,unbekannt,k.a.,keine angabe,n.k.,inconnu,desconocido,sconosciuto,desconhecido,onbekend,"
    "nieznany,brak,ukendt,other,others,andere,sonstige,autre,otro,altro,outro,anders,inne,inny,andet,"
)
"""Values that say nothing: they are left out when the others are compared with a list. Folded."""

_FEMALE = _phrases(
    "f,w,m,female,females,woman,women,girl,weiblich,frau,mädchen,femme,féminin,fille,mujer,femenino,hembra,"
    "femmina,femminile,donna,feminino,mulher,vrouw,vrouwelijk,kobieta,żeńska,k,kvinde,kvinna,v,fem"
)
_MALE = _phrases(
    "m,male,males,man,men,boy,männlich,mann,junge,homme,masculin,garçon,h,hombre,masculino,varón,"
    "maschio,maschile,uomo,homem,mannelijk,mężczyzna,męska,mand,masc"
)
_OTHER_SEX = _phrases("d,x,o,u,divers,diverse,nonbinary,non-binary,intersex,non binary,i,trans")
SEXES = _FEMALE | _MALE | _OTHER_SEX
"""Values of a sex. Folded."""

MARITAL_STATES = _phrases(
    """
    single,married,divorced,widowed,separated,widow,widower,never married,never-married,unmarried,partnered,cohabiting
    married-civ-spouse,married-spouse-absent,married-af-spouse,civil partnership,domestic partner,in a relationship
    husband,wife,not-in-family,own-child,other-relative,married filing jointly
    ledig,verheiratet,geschieden,verwitwet,getrennt,getrennt lebend,eingetragene lebenspartnerschaft,verpartnert
    célibataire,marié,mariée,marié(e),divorcé,divorcée,divorcé(e),veuf,veuve,veuf(ve),séparé,pacsé,pacs,en couple
    soltero,soltera,casado,casada,divorciado,divorciada,viudo,viuda,separado,separada,soltero/a,casado/a,pareja de hecho
    celibe,nubile,coniugato,coniugata,sposato,sposata,divorziato,divorziata,vedovo,vedova,separato,separata
    solteiro,solteira,viúvo,viúva,união de facto,união estável
    ongehuwd,gehuwd,gescheiden,weduwe,weduwnaar,alleenstaand,samenwonend,getrouwd
    kawaler,panna,żonaty,zamężna,rozwiedziony,rozwiedziona,wdowiec,wdowa
    ugift,gift,fraskilt,enke,enkemand,skilt,separeret,samlevende
    """
)
"""Marital and family states. Folded."""

RELIGIONS = _phrases(
    """
    christian,catholic,roman catholic,protestant,orthodox,lutheran,anglican,baptist,methodist,evangelical,mormon
    muslim,islam,sunni,shia,jewish,judaism,hindu,hinduism,buddhist,buddhism,sikh,sikhism,jain,atheist,agnostic
    christianity,no religion,jehovah's witness,pentecostal,presbyterian,taoist,bahai
    katholisch,römisch-katholisch,evangelisch,protestantisch,orthodox,muslimisch,islamisch,jüdisch,konfessionslos
    hinduistisch,buddhistisch,freikirchlich,rk,ev
    catholique,protestant,orthodoxe,musulman,juif,bouddhiste,hindouiste,athée,sans religion
    católico,católica,protestante,ortodoxo,musulmán,judío,budista,hinduista,ateo,evangélico
    cattolico,cattolica,ortodosso,musulmano,ebreo,buddista,induista,valdese
    muçulmano,judeu,hindu,ateu,espírita
    katholiek,hervormd,gereformeerd,moslim,joods,boeddhist,atheïst
    katolicyzm,katolik,prawosławny,protestant,muzułmanin,ateista,żydowskie
    folkekirken,katolik,jødisk,buddhist,ateist
    """
)
"""Religions and confessions. Folded."""

DIAGNOSES = _phrases(
    """
    flu,influenza,cold,asthma,diabetes,type 1 diabetes,type 2 diabetes,cancer,breast cancer,lung cancer,hiv,hiv+,aids
    hypertension,stroke,depression,anxiety,bipolar,schizophrenia,epilepsy,migraine,arthritis,pneumonia,bronchitis,copd
    hepatitis,hepatitis b,hepatitis c,tuberculosis,heart disease,heart attack,heart failure,dementia,alzheimer
    alzheimer's,parkinson,multiple sclerosis,obesity,anemia,anaemia,allergy,covid,covid-19,syphilis,gonorrhea,gonorrhoea
    chlamydia,herpes,malaria,leukemia,leukaemia,ulcer,gastritis,eczema,psoriasis,fracture,kidney disease,autism,adhd
    ptsd,burnout,addiction,alcoholism,infection,viral infection,gastroenteritis,angina,sepsis,insomnia,osteoporosis
    grippe,erkältung,krebs,brustkrebs,bluthochdruck,schlaganfall,depressionen,angststörung,epilepsie,migräne
    lungenentzündung,herzinfarkt,herzinsuffizienz,demenz,adipositas,allergie,leukämie,magengeschwür,rheuma,diabetes
    asthme,diabète,sida,vih,hypertension artérielle,avc,dépression,anxiété,pneumonie,bronchite,tuberculose,démence
    gripe,asma,cáncer,sida,hipertensión,depresión,ansiedad,neumonía,bronquitis,tuberculosis,infarto,epilepsia,migraña
    influenza,diabete,cancro,tumore,ipertensione,ictus,depressione,ansia,polmonite,bronchite,tubercolosi,infarto
    cancro,câncer,hipertensão,depressão,ansiedade,pneumonia,tuberculose,infarto,avc
    griep,astma,suikerziekte,kanker,hoge bloeddruk,beroerte,depressie,angst,longontsteking,hartinfarct,dementie
    grypa,astma,cukrzyca,rak,nadciśnienie,udar,depresja,zapalenie płuc,gruźlica,zawał,padaczka,migrena,otyłość
    influenza,sukkersyge,kræft,forhøjet blodtryk,slagtilfælde,lungebetændelse,hjerteanfald,demens,migræne
    """
)
"""Common diagnoses. Folded."""

PARTIES = _phrases(
    """
    democrat,republican,democratic,libertarian,green,labour,conservative,tory,liberal,socialist,communist
    cdu,csu,spd,fdp,die linke,linke,grüne,die grünen,afd,bündnis 90/die grünen,bsw
    lfi,rn,ps,lr,renaissance,front national,psoe,pp,vox,podemos,sumar,ciudadanos
    partito democratico,lega,fratelli d'italia,forza italia,m5s,psd,chega,vvd,pvv,d66,cda,pvda,groenlinks
    pis,platforma obywatelska,konfederacja,socialdemokratiet,venstre,dansk folkeparti,enhedslisten
    """
)
"""Political parties and directions. Folded."""

SEXUAL_ORIENTATIONS = _phrases(
    "heterosexual,homosexual,bisexual,straight,gay,lesbian,asexual,pansexual,queer,heterosexuell,homosexuell,bisexuell,"
    "schwul,lesbisch,hétérosexuel,homosexuel,bisexuel,heterosexueel,homoseksueel,heteroseksualny,homoseksualny"
)
"""Sexual orientations. Folded."""

ETHNIC_GROUPS = _phrases(
    """
    white,black,asian,hispanic,latino,latina,african american,african-american,caucasian,native american,black african
    pacific islander,asian-pac-islander,amer-indian-eskimo,american indian,white british,black caribbean,mixed
    mixed race,multiracial,two or more races,indigenous,aboriginal,roma,arab,non-hispanic,han,asian british,maori
    white non-hispanic,black non-hispanic,middle eastern,south asian,east asian,hispanic or latino
    weiß,schwarz,asiatisch,blanc,noir,asiatique,blanco,negro,mestizo,indígena,branco,branca,preto,preta,pardo,parda
    amarela,amarelo
    """
)
"""Ethnic groups as censuses name them. Folded."""

_COLOURS = _phrases("white,black,blanc,noir,blanco,negro,branco,branca,preto,preta,weiß,schwarz,mixed,amarelo,amarela")
"""Ethnic groups that are colours of things as well."""

COUNTRIES = _phrases(
    """
    afghanistan,albania,algeria,andorra,angola,argentina,armenia,australia,austria,azerbaijan,bahamas,bahrain,bangladesh
    barbados,belarus,belgium,belize,benin,bhutan,bolivia,bosnia,bosnia and herzegovina,botswana,brazil,brunei,bulgaria
    burkina faso,burundi,cambodia,cameroon,canada,cape verde,chad,chile,china,colombia,columbia,comoros,congo,costa rica
    croatia,cuba,cyprus,czech republic,czechia,denmark,djibouti,dominica,dominican republic,dominican-republic,ecuador
    egypt,el salvador,el-salvador,england,equatorial guinea,eritrea,estonia,eswatini,ethiopia,fiji,finland,france,gabon
    gambia,georgia,germany,ghana,great britain,greece,grenada,guatemala,guinea,guyana,haiti,holland,honduras,hong
    hong kong,hungary,iceland,india,indonesia,iran,iraq,ireland,israel,italy,ivory coast,jamaica,japan,jordan,kazakhstan
    kenya,korea,kosovo,kuwait,kyrgyzstan,laos,latvia,lebanon,lesotho,liberia,libya,liechtenstein,lithuania,luxembourg
    macedonia,madagascar,malawi,malaysia,maldives,mali,malta,mauritania,mauritius,mexico,moldova,monaco,mongolia
    montenegro,morocco,mozambique,myanmar,namibia,nepal,netherlands,new zealand,nicaragua,niger,nigeria,north korea
    north macedonia,northern ireland,norway,oman,pakistan,palestine,panama,papua new guinea,paraguay,peru,philippines
    poland,portugal,puerto rico,puerto-rico,qatar,romania,russia,rwanda,saudi arabia,scotland,senegal,serbia
    sierra leone,singapore,slovakia,slovenia,somalia,south,south africa,south korea,south sudan,spain,sri lanka,sudan
    suriname,sweden,switzerland,syria,taiwan,tajikistan,tanzania,thailand,togo,trinidad and tobago,trinadad&tobago
    tunisia,turkey,türkiye,turkmenistan,uganda,ukraine,united arab emirates,united kingdom,united states,united-states
    uruguay,usa,uk,uae,uzbekistan,vanuatu,venezuela,vietnam,wales,yemen,yugoslavia,zambia,zimbabwe,soviet union
    deutschland,österreich,schweiz,frankreich,italien,spanien,polen,niederlande,belgien,dänemark,schweden,norwegen
    finnland,griechenland,türkei,russland,ungarn,tschechien,rumänien,bulgarien,kroatien,serbien,slowenien,slowakei
    großbritannien,vereinigtes königreich,irland,vereinigte staaten,kanada,brasilien,indien,japan,syrien,luxemburg
    allemagne,autriche,suisse,italie,espagne,pologne,pays-bas,belgique,danemark,suède,norvège,finlande,grèce,turquie
    russie,hongrie,roumanie,bulgarie,croatie,serbie,royaume-uni,irlande,états-unis,brésil,maroc,algérie,tunisie,chine
    inde,japon,syrie,sénégal,alemania,suiza,francia,italia,españa,polonia,países bajos,bélgica,dinamarca,suecia,noruega
    finlandia,grecia,turquía,rusia,hungría,rumanía,reino unido,irlanda,estados unidos,méxico,brasil,perú,marruecos,japón
    germania,svizzera,spagna,paesi bassi,belgio,danimarca,svezia,norvegia,turchia,ungheria,romania,regno unito,marocco
    stati uniti,brasile,cina,giappone,albania,alemanha,áustria,suíça,frança,itália,espanha,polónia,polônia,holanda
    suécia,finlândia,grécia,turquia,rússia,hungria,roménia,argélia,marrocos,angola,moçambique,cabo verde
    duitsland,oostenrijk,zwitserland,frankrijk,italië,spanje,nederland,belgië,denemarken,zweden,noorwegen,griekenland
    turkije,rusland,hongarije,roemenië,verenigd koninkrijk,ierland,verenigde staten,marokko
    niemcy,austria,szwajcaria,francja,włochy,hiszpania,polska,holandia,belgia,dania,szwecja,norwegia,grecja,turcja,rosja
    węgry,rumunia,wielka brytania,irlandia,stany zjednoczone,ukraina,białoruś,litwa,czechy,słowacja,chiny
    tyskland,østrig,frankrig,spanien,polen,holland,danmark,sverige,norge,grækenland,tyrkiet,storbritannien,usa,kina
    """
)
"""Countries by name. Folded."""

NATIONALITIES = _phrases(
    """
    american,british,english,scottish,welsh,irish,german,french,spanish,italian,portuguese,dutch,polish,danish,swedish
    norwegian,finnish,greek,turkish,russian,ukrainian,hungarian,romanian,bulgarian,croatian,serbian,bosnian,albanian
    swiss,austrian,belgian,czech,slovak,slovenian,chinese,japanese,korean,indian,pakistani,bangladeshi,vietnamese,thai
    filipino,indonesian,malaysian,canadian,mexican,brazilian,argentinian,colombian,peruvian,chilean,cuban,australian
    moroccan,algerian,tunisian,egyptian,syrian,iraqi,iranian,afghan,lebanese,israeli,saudi,nigerian,ghanaian,kenyan
    ethiopian,somali,south african,eritrean,lithuanian,latvian,estonian
    deutsch,österreichisch,schweizerisch,französisch,italienisch,spanisch,polnisch,türkisch,russisch,ukrainisch,syrisch
    britisch,griechisch,rumänisch,kroatisch,serbisch,niederländisch,dänisch,portugiesisch,bulgarisch,ungarisch
    française,français,allemand,allemande,anglais,anglaise,italien,italienne,espagnol,espagnole,portugais,marocain
    algérien,tunisien,belge,suisse,turc,chinois,polonais,español,española,alemán,francés,italiano,marroquí,rumano
    colombiano,ecuatoriano,mexicano,argentino,peruano,chino,italiana,tedesco,francese,spagnolo,rumeno,albanese,cinese
    portuguesa,português,brasileiro,brasileira,angolano,nederlands,duits,belgisch,turks,marokkaans,pools,surinaams
    polska,niemiecka,ukraińska,białoruska,rosyjska,dansk,tysk,svensk,norsk,polsk,tyrkisk,britisk
    """
)
"""Nationalities as adjectives. Folded."""

COUNTRY_CODES = _words(
    "ad ae af al am ao ar at au az ba bb bd be bf bg bh bi bj bn bo br bs bt bw by bz ca cd cf cg ch ci cl cm cn "
    "co cr cu cv cy cz de dj dk dm do dz ec ee eg er es et fi fj fr ga gb gd ge gh gm gn gr gt gw gy hk hn hr ht "
    "hu id ie il in iq ir is it jm jo jp ke kg kh km kp kr kw kz la lb li lk lr ls lt lu lv ly ma mc md me mg mk "
    "ml mm mn mr mt mu mv mw mx my mz na ne ng ni nl no np nz om pa pe pg ph pk pl pr pt py qa ro rs ru rw sa sc "
    "sd se sg si sk sl sm sn so sr ss st sv sy sz td tg th tj tm tn tr tt tw tz ua ug uk us uy uz va ve vn ye za "
    "zm zw arg aus aut bel bgr bra can che chl chn col cze deu dnk dza egy esp est fin fra gbr grc hrv hun idn "
    "ind irl irn irq isr ita jpn kor ltu lux lva mar mex mys nga nld nor nzl pak per phl pol prt rou rus sau srb "
    "svk svn swe syr tha tun tur twn ukr usa ven vnm zaf"
)
"""Country codes of ISO 3166-1: all of two letters that are common, some of three. Folded."""

REGIONS = _phrases(
    """
    alabama,alaska,arizona,arkansas,california,colorado,connecticut,delaware,florida,georgia,hawaii,idaho,illinois
    indiana,iowa,kansas,kentucky,louisiana,maine,maryland,massachusetts,michigan,minnesota,mississippi,missouri,montana
    nebraska,nevada,new hampshire,new jersey,new mexico,new york,north carolina,north dakota,ohio,oklahoma,oregon
    pennsylvania,rhode island,south carolina,south dakota,tennessee,texas,utah,vermont,virginia,washington,west virginia
    wisconsin,wyoming,district of columbia
    baden-württemberg,bayern,berlin,brandenburg,bremen,hamburg,hessen,mecklenburg-vorpommern,niedersachsen,saarland
    nordrhein-westfalen,rheinland-pfalz,sachsen,sachsen-anhalt,schleswig-holstein,thüringen,bavaria,saxony
    wien,tirol,salzburg,kärnten,steiermark,vorarlberg,burgenland,zürich,bern,genf,basel,vaud
    île-de-france,bretagne,normandie,occitanie,grand est,hauts-de-france,nouvelle-aquitaine,pays de la loire,corse
    andalucía,cataluña,madrid,galicia,valencia,aragón,asturias,cantabria,extremadura,murcia,navarra,la rioja
    lombardia,lazio,campania,sicilia,veneto,piemonte,puglia,toscana,emilia-romagna,calabria,sardegna,liguria,umbria
    lisboa,porto,algarve,alentejo,noord-holland,zuid-holland,utrecht,gelderland,overijssel,groningen,friesland,limburg
    mazowieckie,małopolskie,śląskie,wielkopolskie,dolnośląskie,pomorskie,łódzkie,lubelskie
    hovedstaden,sjælland,syddanmark,midtjylland,nordjylland,ontario,quebec,british columbia,alberta,new south wales
    london,paris,rome,roma,milano,barcelona,münchen,munich,köln,cologne,frankfurt,hamburg,stuttgart,leipzig,dresden
    lyon,marseille,toulouse,lille,bordeaux,nice,nantes,sevilla,zaragoza,málaga,bilbao,napoli,torino,firenze,bologna
    amsterdam,rotterdam,den haag,eindhoven,antwerpen,brussels,bruxelles,brussel,gent,warszawa,kraków,wrocław,poznań
    gdańsk,łódź,københavn,copenhagen,aarhus,odense,aalborg,stockholm,göteborg,malmö,oslo,bergen,helsinki,vienna,zurich
    geneva,dublin,manchester,birmingham,liverpool,leeds,glasgow,edinburgh,new york city,los angeles,chicago,houston
    boston,seattle,san francisco,dallas,philadelphia,phoenix,miami,atlanta,denver,toronto,montreal,vancouver,sydney
    melbourne,tokyo,beijing,shanghai,delhi,mumbai,moscow,istanbul,athens,prague,budapest,bucharest,sofia,cairo,lagos
    europe,asia,africa,north america,south america,oceania,latin america,antarctica,europa,afrika,asien
    urban,rural,suburban
    """
)
"""States, provinces and large cities. Folded."""

_ICD_WITH_POINT = re.compile(r"[A-TV-Z]\d[0-9AB]\.\d[0-9A-Z]{0,3}", re.IGNORECASE)
_BAND = re.compile(r"[\[(]?(\d{1,3})\s?(?:-|–|to|bis|,|à|a)\s?(\d{1,3})\s?[\])]?(?: ?(?:years|jahre|ans|años|y))?")
_END = re.compile(r"(?:[<>≤≥]=?|under|over|unter|über)\s?(\d{1,3})|(\d{1,3})\s?(?:\+|and over|or older|plus)")


def is_demographic(name: str, values: Iterable[str] = ()) -> bool:
    """Return True if a column is named or filled like age, birth, sex, origin or marital state; a place is none.

    Parameters
    ----------
    name : str
        Name of the column.
    values : iterable of str
        Distinct values as strings, or some of them; none where only the name shall count.
    """
    words = _header(name)
    known = _BIRTH_AGE_SEX_WORDS | _ORIGIN_WORDS | _MARITAL_WORDS
    if not known.isdisjoint(words) or not _AGE_SEX_AS_WRITTEN.isdisjoint(words_of(name)):
        return True
    if not _STATUS_PAIRS.isdisjoint(pairwise(words)):
        return True
    folded = _meaningful(values)
    return (
        _are_sexes(folded)
        or _are_age_bands(folded)
        or any(_known(folded, those) for those in (MARITAL_STATES, NATIONALITIES))
        or (_known(folded, ETHNIC_GROUPS) and not _COLOURS.issuperset(folded))
    )


def describes_person(name: str, values: Iterable[str] = ()) -> bool:
    """Return True if a column is demographic, or named like work, schooling, household or language of a person."""
    return not _SOCIAL_WORDS.isdisjoint(_header(name)) or is_demographic(name, values)


def is_place(name: str, values: Iterable[str] = ()) -> bool:
    """Return True if a column is named or filled like places: countries, regions, cities, addresses, coordinates."""
    words = _header(name)
    if not (_PLACE_WORDS - _PLACE_ONLY_ALONE).isdisjoint(words) or (len(words) == 1 and words[0] in _PLACE_WORDS):
        return True
    folded = _meaningful(values)
    return _known(folded, COUNTRIES | REGIONS) or (len(folded) >= 3 and _known(folded, COUNTRY_CODES, 0.9))


def is_time(name: str) -> bool:
    """Return True if a column is named like dates, times or parts of them."""
    words = _header(name)
    return bool(words) and (words[-1] in _TIME_WORDS or words[0] in _TIME_WORDS)


def looks_like_secret(name: str, values: Iterable[str] = ()) -> bool:
    """Return True if a column is named or filled like what people keep secret.

    Health and diagnoses, religion, politics, sexuality, crime, membership of a trade union, pay. A column named like an
    income is one where it holds amounts; classes of it (`<=50K`, `>50K`) are a label.
    """
    words = _header(name)
    if not _SECRET_AS_WRITTEN.isdisjoint(words_of(name)) or any(
        word in _SECRET_WORDS or word.startswith(_SECRET_STEMS) for word in words
    ):
        return True
    folded = _meaningful(values)
    if any(word.startswith(_INCOME_STEMS) for word in words):
        return len(folded) != 2 and all(re.fullmatch(r"[-+]?[\d., ]+", value) for value in folded)
    if folded and sum(bool(_ICD_WITH_POINT.fullmatch(value)) for value in folded) >= _MOSTLY * len(folded):
        return True
    return any(_known(folded, those) for those in (DIAGNOSES, RELIGIONS, PARTIES, SEXUAL_ORIENTATIONS))


def _header(name: str) -> list[str]:
    return [folded(word) for word in words_of(name)]


def _meaningful(values: Iterable[str]) -> Sequence[str]:
    """Return the folded values that say something."""
    return sorted({folded(value) for value in values} - UNKNOWN_VALUES)


def _known(folded: Sequence[str], those: frozenset[str], share: float = _MOSTLY) -> bool:
    """Return True if a list knows most of the values: two at least."""
    known = sum(value in those for value in folded)
    return known >= max(2, share * len(folded))


def _are_sexes(folded: Sequence[str]) -> bool:
    """Return True if all values are of a sex, at least one of each of the two common ones."""
    given = set(folded)
    return given <= SEXES and any(
        female in given and male in given for female in given & _FEMALE for male in given & _MALE if female != male
    )


def _are_age_bands(folded: Sequence[str]) -> bool:
    """Return True if three values or more are intervals that people's ages fill; an open end may be one or two."""
    bands = [match for value in folded if (match := _BAND.fullmatch(value))]
    ends = sum(bool(_END.fullmatch(value)) for value in folded)
    closed = all(int(match[1]) < int(match[2]) <= _MAX_AGE for match in bands)
    return closed and len(folded) >= 3 and len(bands) >= 2 and len(bands) + min(ends, 2) == len(folded)
